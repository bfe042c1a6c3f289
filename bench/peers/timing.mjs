// Running programs and taking times, counting what they left on the disk, and statistics.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

/** Runs a step that is not measured and returns what it printed; throws if it fails. */
export function run(command, { cwd, env }) {
  const [program, ...args] = command
  const done = spawnSync(program, args, { cwd, env, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = `${done.stdout ?? ''}${done.stderr ?? ''}`
  if (done.error || done.status !== 0) {
    const how = done.error?.message ?? (done.signal ? `signal ${done.signal}` : `exit code ${done.status}`)
    throw new Error(`${path.basename(program)} ${args.join(' ')}: ${how}\n${output.trimEnd().split('\n').slice(-25).join('\n')}`)
  }
  return output
}

/** Milliseconds from before the fork to after the exit. A failure is repeated with its output shown, and thrown. */
export function time(command, { cwd, env }) {
  const [program, ...args] = command
  const options = { cwd, env, stdio: 'ignore' }
  const start = process.hrtime.bigint()
  const done = spawnSync(program, args, options)
  const end = process.hrtime.bigint()
  if (done.error || done.status !== 0) {
    run(command, { cwd, env })
    throw new Error(`${path.basename(program)} ${args.join(' ')}: failed when measured, and not when repeated`)
  }
  return Number(end - start) / 1e6
}

export function sync(directory) {
  spawnSync('sync', ['-f', directory], { stdio: 'ignore' })
}

/** Bytes and inodes in use on the file system. Call `sync` first: ext4 allocates late. */
export function used(directory) {
  const { bsize, blocks, bfree, files, ffree } = fs.statfsSync(directory, { bigint: true })
  return { bytes: Number((blocks - bfree) * bsize), inodes: Number(files - ffree) }
}

/**
 * What a tree holds, by st_blocks. `own` leaves out files with more than one name: they lie in a store and cost a tree
 * nothing but the name.
 */
export function tree(directory) {
  const sum = { entries: 0, bytes: 0, own: 0 }
  const seen = new Set()
  const visit = (name) => {
    const status = fs.lstatSync(name)
    sum.entries += 1
    if (!seen.has(status.ino)) {
      seen.add(status.ino)
      sum.bytes += status.blocks * 512
      if (status.isDirectory() || status.nlink === 1) sum.own += status.blocks * 512
    }
    if (status.isDirectory()) for (const entry of fs.readdirSync(name)) visit(path.join(name, entry))
  }
  visit(directory)
  return sum
}

/** The node_modules directories of a worktree that do not lie in another. */
export function nodeModules(directory) {
  const found = []
  for (const entry of fs.readdirSync(directory, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name === '.git') continue
    const name = path.join(directory, entry.name)
    if (entry.name === 'node_modules') found.push(name)
    else found.push(...nodeModules(name))
  }
  return found
}

export function quantile(samples, fraction) {
  const sorted = [...samples].sort((a, b) => a - b)
  const position = (sorted.length - 1) * fraction
  const below = Math.floor(position)
  const above = Math.ceil(position)
  return sorted[below] + (sorted[above] - sorted[below]) * (position - below)
}

export function summary(samples) {
  if (samples.length === 0) return null
  const [median, p10, p90] = [0.5, 0.1, 0.9].map((fraction) => quantile(samples, fraction))
  return { median, p10, p90, rounds: samples.length, samples }
}
