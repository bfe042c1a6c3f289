export interface Found {
  /** The worktree: the directory whose node_modules has the marker. */
  root: string
  /** The install behind it, in the store. */
  install: string
}

export interface Options {
  /** Where to look from; default: Next: this package's directory, then the current one; Vite: its root. */
  dir?: string
}

/** The worktree around `dir` (default: the current directory) and its install; null where node_modules are not pfnm links. */
export function findInstall(dir?: string): Found | null

/** Next.js: `module.exports = withPfnm({ ... })`. Returns the configuration unchanged where there is no marker. */
export function withPfnm<T>(config?: T, options?: Options): T

export interface VitePlugin {
  name: string
  config(user?: { root?: string }): { server: { fs: { allow: string[] } } } | undefined
}

/** Vite: `plugins: [pfnm()]`. Does nothing where there is no marker. */
export function pfnm(options?: Options): VitePlugin
