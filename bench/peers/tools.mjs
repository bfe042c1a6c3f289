// The tools: which version, how it is set up for a project, and the command that is measured.
import fs from 'node:fs'
import path from 'node:path'
import { run } from './timing.mjs'

const write = (directory, name, text) => fs.writeFileSync(path.join(directory, name), text)
const remove = (directory, name) => fs.rmSync(path.join(directory, name), { force: true })
// JSON is YAML, and for strings and booleans TOML too.
const settings = (entries, separator) =>
  Object.entries(entries).map(([key, value]) => `${key}${separator}${JSON.stringify(value)}\n`).join('')

function workspaces(directory) {
  const { workspaces: given } = JSON.parse(fs.readFileSync(path.join(directory, 'package.json'), 'utf8'))
  return Array.isArray(given) ? given : given?.packages ?? []
}

/** The native program that a package of the tool's platform packages brings, without the script that picks it. */
function native(modules, scope, prefix, program) {
  const parent = path.join(modules, scope)
  const candidates = fs.readdirSync(parent).filter((name) => name.startsWith(prefix)).sort()
  for (const name of candidates) {
    const file = path.join(parent, name, program)
    try {
      run([file, '--version'], { cwd: parent, env: {} })
      return file
    } catch {
      // Made for another libc or processor.
    }
  }
  throw new Error(`none of ${candidates.join(', ') || 'no packages'} in ${scope} runs here`)
}

function inside(file, directory, what) {
  if (!fs.realpathSync(file).startsWith(fs.realpathSync(directory) + path.sep)) throw new Error(`${what} is not used`)
}

function bun(id, title, linker) {
  return {
    id,
    title,
    package: 'bun',
    pinned: '1.4.4',
    range: '1',
    program: (modules) => [native(modules, '@oven', 'bun-', 'bin/bun')],
    configure(tool) {
      const lines = { cache: path.join(tool.root, 'cache'), ...linker }
      write(tool.repository, 'bunfig.toml', `[install]\n${settings(lines, ' = ')}`)
    },
    lock(tool) {
      const output = run([...tool.command, 'install', '--ignore-scripts'], tool.at(tool.repository))
      remove(tool.repository, 'package-lock.json')
      return /migrated/i.test(output) ? 'migrated from package-lock.json' : 'resolved anew'
    },
    install: ['install', '--offline', '--frozen-lockfile', '--ignore-scripts'],
    check(tool, worktree, dependency) {
      if (!linker.globalStore) return
      const store = path.join(worktree, 'node_modules/.bun')
      const shared = fs.readdirSync(store, { withFileTypes: true }).filter((entry) => entry.isSymbolicLink())
      if (shared.length === 0) throw new Error('the global store is not used')
      inside(path.join(store, shared[0].name), path.join(tool.root, 'cache'), 'the global store')
      fs.statSync(dependency)
    },
  }
}

export const tools = [
  {
    id: 'pfnm',
    title: 'pfnm link',
    configure(tool) {
      write(tool.repository, '.npmrc', 'ignore-scripts=true\n')
    },
    lock: () => 'package-lock.json itself',
    install: ['link'],
    check: (tool, worktree, dependency) => inside(dependency, path.join(tool.root, 'store'), "pfnm's store"),
  },
  {
    id: 'pnpm',
    title: 'pnpm, global virtual store',
    package: 'pnpm',
    pinned: '12.4.2',
    range: '12',
    program: (modules) => [native(modules, '@pnpm', 'exe.', 'pnpm')],
    configure(tool) {
      const lines = {
        packages: workspaces(tool.repository),
        enableGlobalVirtualStore: true,
        linkWorkspacePackages: true, // npm's locks mean the workspace by a plain range
        minimumReleaseAge: 0,
        updateNotifier: false,
        storeDir: path.join(tool.root, 'store'),
        cacheDir: path.join(tool.root, 'cache'),
      }
      write(tool.repository, 'pnpm-workspace.yaml', settings(lines, ': '))
    },
    lock(tool) {
      let how = 'pnpm import'
      try {
        run([...tool.command, 'import'], tool.at(tool.repository))
      } catch (error) {
        how = `resolved anew (pnpm import: ${error.message.split('\n').slice(0, 4).join(' ')})`
      }
      remove(tool.repository, 'package-lock.json')
      const frozen = how === 'pnpm import' ? ['--frozen-lockfile'] : []
      run([...tool.command, 'install', ...frozen, '--ignore-scripts'], tool.at(tool.repository))
      return how
    },
    install: ['install', '--offline', '--frozen-lockfile', '--ignore-scripts'],
    check: (tool, worktree, dependency) => inside(dependency, path.join(tool.root, 'store'), 'the global virtual store'),
  },
  bun('bun-isolated', 'Bun, isolated, global store', { linker: 'isolated', globalStore: true }),
  bun('bun-hoisted', 'Bun, hoisted', { linker: 'hoisted' }),
  {
    id: 'yarn',
    title: 'Yarn, hardlinks-global',
    package: '@yarnpkg/cli-dist',
    pinned: '4.18.1',
    range: '4',
    slow: true,
    program: (modules, node) => [node, path.join(modules, '@yarnpkg/cli-dist/bin/yarn.js')],
    configure(tool) {
      const lines = {
        nodeLinker: 'node-modules',
        nmMode: 'hardlinks-global',
        enableScripts: false,
        enableTelemetry: false,
        enableGlobalCache: true,
        globalFolder: path.join(tool.root, 'global'),
        npmRegistryServer: tool.registry,
        ...(tool.cafile ? { httpsCaFilePath: tool.cafile } : {}),
      }
      write(tool.root, 'home/.yarnrc.yml', settings(lines, ': '))
      write(tool.repository, 'yarn.lock', '')
    },
    lock(tool) {
      remove(tool.repository, 'package-lock.json') // Yarn 4 reads locks of Yarn 1 only
      run([...tool.command, 'install', '--mode=skip-build'], tool.at(tool.repository))
      return 'resolved anew'
    },
    install: ['install', '--immutable', '--mode=skip-build'],
    variables: { YARN_ENABLE_NETWORK: '0' },
    check(tool, worktree, dependency) {
      if (fs.statSync(path.join(dependency, 'package.json')).nlink < 2) throw new Error('files are not linked')
    },
  },
  {
    id: 'npm',
    title: 'npm ci',
    package: 'npm',
    pinned: '11.19.1',
    range: '11',
    slow: true,
    program: (modules, node) => [node, path.join(modules, 'npm/bin/npm-cli.js')],
    configure() {},
    lock(tool) {
      run([...tool.command, 'ci', '--ignore-scripts'], tool.at(tool.repository))
      return 'package-lock.json itself'
    },
    install: ['ci', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund'],
    check() {},
  },
]
