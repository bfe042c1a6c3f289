// Prepares a repository for each tool, measures them in turns, and writes the report. Called by run.sh.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { nodeModules, run, summary, sync, time, tree, used } from './timing.mjs'
import { tools as known } from './tools.mjs'
import { machine, write } from './report.mjs'

const { values: options } = parseArgs({
  options: {
    project: { type: 'string' },
    pfnm: { type: 'string' },
    work: { type: 'string' },
    kind: { type: 'string' },
    out: { type: 'string' },
    rounds: { type: 'string', default: '15' },
    wait: { type: 'string', default: '0' },
    'slow-rounds': { type: 'string', default: '3' },
    tools: { type: 'string', default: known.map((tool) => tool.id).join(',') },
  },
})
const wanted = ['pfnm', ...options.tools.split(',')]
const rounds = Number(options.rounds)
const slowRounds = Math.min(rounds, Number(options['slow-rounds']))
if (!(rounds >= 1) || !(slowRounds >= 1) || wanted.some((id) => !known.some((tool) => tool.id === id))) {
  console.error('peers: wrong --rounds, --slow-rounds or --tools')
  process.exit(2)
}

const work = fs.realpathSync(options.work)
const log = (text) => console.error(`peers: ${text}`)
const here = { cwd: work, env: process.env }
const npmSetting = (key) => run(['npm', 'config', 'get', key], here).trim().split('\n').at(-1)
const registry = npmSetting('registry')
const cafile = [npmSetting('cafile')].find((value) => value && value !== 'null')

// The tools get no variable but these; CI in particular would turn pnpm's global virtual store off.
const passed = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY',
  'http_proxy', 'https_proxy', 'no_proxy']
const programs = path.join(work, 'programs')
const base = { PATH: `${programs}:/usr/local/bin:/usr/bin:/bin`, LANG: 'C.UTF-8',
  ...Object.fromEntries(passed.filter((key) => process.env[key]).map((key) => [key, process.env[key]])) }

/** Installs the pinned version of a tool, or, where there is none, the newest of its major version. */
function fetchTool(tool) {
  const directory = path.join(work, 'tools', tool.package.replace('/', '+'))
  const modules = path.join(directory, 'node_modules')
  const manifest = path.join(modules, tool.package, 'package.json')
  if (!fs.existsSync(manifest)) {
    fs.mkdirSync(directory, { recursive: true })
    fs.writeFileSync(path.join(directory, 'package.json'), '{"private":true}')
    const install = (version) => run(['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund',
      '--cache', path.join(work, 'tools/cache'), `${tool.package}@${version}`], { cwd: directory, env: process.env })
    try {
      install(tool.pinned)
    } catch {
      install(tool.range)
    }
  }
  return { modules, version: JSON.parse(fs.readFileSync(manifest, 'utf8')).version }
}

function copyProject(target) {
  const leftOut = new Set(['node_modules', '.git'])
  fs.cpSync(options.project, target, { recursive: true, filter: (name) => !leftOut.has(path.basename(name)) })
  run(['chmod', '-R', 'u+w', target], here)
  const file = path.join(target, 'package.json')
  const manifest = JSON.parse(fs.readFileSync(file, 'utf8'))
  if (manifest.packageManager || manifest.devEngines?.packageManager) {
    delete manifest.packageManager // each of them would refuse, or call another
    delete manifest.devEngines?.packageManager
    fs.writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`)
  }
}

const identity = ['-c', 'user.name=bench', '-c', 'user.email=bench@localhost']

/** A repository of its own with the tool's lock committed, everything warm, and all worktrees it will need. */
function prepare(tool) {
  const root = path.join(work, tool.id)
  const home = path.join(root, 'home')
  const repository = path.join(root, 'repository')
  fs.mkdirSync(home, { recursive: true })
  fs.mkdirSync(path.join(root, 'tmp'))
  fs.writeFileSync(path.join(home, '.npmrc'), `registry=${registry}\n${cafile ? `cafile=${cafile}\n` : ''}`)
  const env = { ...base, HOME: home, TMPDIR: path.join(root, 'tmp'), ...tool.variables }
  Object.assign(tool, { root, home, repository, registry, cafile })
  tool.at = (cwd) => ({ cwd, env: { ...env, YARN_ENABLE_NETWORK: '1' } })
  tool.offline = (cwd) => ({ cwd, env })

  if (tool.id === 'pfnm') {
    Object.assign(env, { PFNM_STORE: path.join(root, 'store') })
    tool.command = [path.join(work, 'pfnm-program/bin/pfnm')]
    tool.version = run([...tool.command, '--version'], { cwd: root, env }).trim().split(' ').at(-1)
  } else {
    const { modules, version } = fetchTool(tool)
    tool.version = version
    tool.command = tool.program(modules, fs.realpathSync(process.execPath))
  }

  copyProject(repository)
  run(['git', 'init', '-q', repository], here)
  fs.appendFileSync(path.join(repository, '.git/info/exclude'), 'node_modules\n.yarn\n')
  tool.configure(tool)
  const commit = () => {
    run(['git', 'add', '-A'], { cwd: repository, env })
    run(['git', ...identity, 'commit', '-q', '--allow-empty', '-m', 'project'], { cwd: repository, env })
  }
  if (tool.id === 'pfnm') commit()
  tool.lockOrigin = tool.lock(tool)
  if (tool.id === 'pfnm') run([...tool.command, ...tool.install], tool.at(repository))
  commit()

  tool.rounds = tool.slow ? slowRounds : rounds
  tool.worktrees = []
  // One more than is measured: the warm-up.
  for (let index = 0; index <= tool.rounds; index += 1) {
    const worktree = path.join(root, `worktree-${index}`)
    run(['git', 'worktree', 'add', '-q', '--detach', worktree], { cwd: repository, env })
    tool.worktrees.push(worktree)
  }
  tool.pristine = tree(tool.worktrees[0])
  const warm = tool.worktrees.shift()
  tool.measured = [...tool.command, ...tool.install]
  run(tool.measured, tool.offline(warm))
  verify(tool, warm)
  run(tool.measured, tool.offline(warm))
  tool.results = { create: [], again: [], remove: [] }
  tool.disk = []
}

const rootManifest = JSON.parse(fs.readFileSync(path.join(options.project, 'package.json'), 'utf8'))
const direct = Object.keys({ ...rootManifest.dependencies, ...rootManifest.devDependencies })

/** Every direct dependency is there, and the sharing that is measured takes place. */
function verify(tool, worktree) {
  const modules = path.join(worktree, 'node_modules')
  for (const name of direct) {
    if (!fs.existsSync(path.join(modules, name, 'package.json'))) throw new Error(`${tool.id}: ${name} is missing in ${worktree}`)
  }
  if (direct.length > 0) tool.check(tool, worktree, path.join(modules, direct[0]))
}

function takeTurns(tools, phase, step) {
  const empty = []
  for (let round = 0; round < rounds; round += 1) {
    log(`${phase} ${round + 1}/${rounds}`)
    const taking = tools.filter((tool) => round < tool.rounds)
    for (let turn = 0; turn < taking.length; turn += 1) {
      step(taking[(turn + round) % taking.length], round)
    }
    empty.push(time(['/bin/true'], { cwd: work, env: base }))
  }
  return empty
}

fs.mkdirSync(programs)
fs.symlinkSync(fs.realpathSync(process.execPath), path.join(programs, 'node'))
const product = path.join(work, 'pfnm-program')
const build = path.dirname(path.dirname(fs.realpathSync(options.pfnm)))
fs.cpSync(path.join(build, 'bin/pfnm'), path.join(product, 'bin/pfnm'), { recursive: true })
fs.cpSync(path.join(build, 'libexec/pfnm'), path.join(product, 'libexec/pfnm'), { recursive: true })

// pfnm builds with npm, the same one.
const npm = known.find((tool) => tool.id === 'npm')
const npmModules = fetchTool(npm).modules
fs.symlinkSync(path.join(npmModules, 'npm/bin/npm-cli.js'), path.join(programs, 'npm'))

const missing = []
const tools = []
for (const tool of known.filter(({ id }) => wanted.includes(id))) {
  log(`preparing ${tool.id}`)
  try {
    prepare(tool)
    tools.push(tool)
    log(`${tool.id} ${tool.version}, lock: ${tool.lockOrigin}`)
  } catch (error) {
    if (tool.id === 'pfnm') throw error
    log(`${tool.id} cannot be measured: ${error.message}`)
    missing.push({ id: tool.id, why: error.message.split('\n').slice(0, 3).join(' ') })
  }
}
sync(work)

const patience = Date.now() + Number(options.wait) * 1000
while (os.loadavg()[0] >= 3 && Date.now() < patience) run(['sleep', '5'], here)
const loadBefore = os.loadavg()[0]
const empty = takeTurns(tools, 'new worktree', (tool, round) => {
  const worktree = tool.worktrees[round]
  const before = used(work)
  tool.results.create.push(time(tool.measured, tool.offline(worktree)))
  sync(work)
  const after = used(work)
  const left = tree(worktree)
  tool.disk.push({
    bytes: after.bytes - before.bytes,
    inodes: after.inodes - before.inodes,
    entries: left.entries - tool.pristine.entries,
    blocks: left.bytes - tool.pristine.bytes,
    own: left.own - tool.pristine.own,
  })
  verify(tool, worktree)
})
empty.push(...takeTurns(tools, 'nothing to do', (tool, round) => {
  tool.results.again.push(time(tool.measured, tool.offline(tool.worktrees[round])))
  sync(work)
}))
// Nothing is deleted before this.
empty.push(...takeTurns(tools, 'removal', (tool, round) => {
  const worktree = tool.worktrees[round]
  const directories = nodeModules(worktree)
  tool.results.remove.push(time(['rm', '-rf', ...directories], tool.offline(worktree)))
  sync(work)
  if (nodeModules(worktree).length > 0) throw new Error(`${tool.id}: node_modules is still there`)
}))
const loadAfter = os.loadavg()[0]

const lock = JSON.parse(fs.readFileSync(path.join(options.project, 'package-lock.json'), 'utf8'))
const entries = Object.entries(lock.packages ?? {})
const project = {
  name: rootManifest.name ?? 'project',
  packages: entries.filter(([name]) => name.includes('node_modules/')).length,
  workspaces: entries.filter(([name]) => name && !name.includes('node_modules/')).length,
}
const met = write(options.out, {
  project,
  machine: machine(work, options.kind, loadBefore, loadAfter),
  tools,
  missing,
  spawn: summary(empty),
  place: work,
})
process.exit(met ? 0 : 1)
