'use strict'
// Packages of a worktree that pfnm linked have their real paths in the store, outside the worktree. Turbopack and Vite
// look at real paths and refuse what lies outside their root. These helpers widen the root, and only where the marker
// `node_modules/.pf-shared` stands: everywhere else (CI, a plain install, a private copy, a view) they change nothing.
const fs = require('node:fs')
const path = require('node:path')

// The worktree (nearest directory from `dir` up whose node_modules has the marker) and the install behind it. Not beyond
// git's worktree: a private copy or a plain install below a linked checkout has nothing to do with that one's links.
function findInstall(dir = process.cwd()) {
  for (let at = path.resolve(dir); ; at = path.dirname(at)) {
    try {
      const install = fs.realpathSync(path.join(at, 'node_modules', '.pf-shared'))
      if (fs.statSync(install).isDirectory()) return { root: fs.realpathSync(at), install }
      return null // an older helper's plain file says nothing of where the install is
    } catch (error) {
      if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
    }
    if (fs.existsSync(path.join(at, '.git')) || path.dirname(at) === at) return null
  }
}

function commonAncestor(a, b) {
  const left = a.split(path.sep)
  const right = b.split(path.sep)
  let same = 0
  while (same < left.length && same < right.length && left[same] === right[same]) same++
  return left.slice(0, same).join(path.sep) || path.parse(a).root
}

function widened(config, found) {
  const root = commonAncestor(found.root, found.install)
  // Next wants both to be equal, or warns and lets the tracing root win.
  return { ...config, turbopack: { ...config.turbopack, root }, outputFileTracingRoot: root }
}

// next.config: module.exports = withPfnm({ ... }). Objects, functions and promises of them, as Next takes them. Next does
// not say which directory it builds (`next build DIRECTORY` keeps the current one): this package lies in the project.
function withPfnm(config = {}, options = {}) {
  const found = options.dir ? findInstall(options.dir) : findInstall(__dirname) || findInstall()
  if (!found) return config
  if (typeof config === 'function') return async (...args) => widened(await config(...args), found)
  if (config && typeof config.then === 'function') return config.then((resolved) => widened(resolved, found))
  return widened(config, found)
}

// vite.config: plugins: [pfnm()]. The list that Vite would have used by itself is given up as soon as one is set, so the
// worktree is named too; Vite joins it with the user's own.
function pfnm(options = {}) {
  return {
    name: 'pfnm',
    config(user) {
      const found = findInstall(options.dir || (user && user.root) || process.cwd())
      return found ? { server: { fs: { allow: [found.root, found.install] } } } : undefined
    },
  }
}

module.exports = { findInstall, withPfnm, pfnm }
