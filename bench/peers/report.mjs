// The report: JSON with every sample, a Markdown table, and the numbers for the chart.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { summary } from './timing.mjs'

const bar = 8 // SPEC part 13, row 1: new worktree, against pnpm and Bun
const barred = ['pnpm', 'bun-isolated', 'bun-hoisted']
const phases = [['create', 'new worktree'], ['again', 'nothing to do'], ['remove', 'removal']]

/** Nothing here names the machine. */
export function machine(directory, kind, loadBefore, loadAfter) {
  const type = spawnSync('stat', ['-f', '-c', '%T', directory], { encoding: 'utf8' }).stdout.trim()
  const fileSystem = kind === 'loop' ? 'ext4 with a journal, on a loop device' : type
  return {
    fileSystem,
    kernel: `${os.type()} ${os.release().split('.').slice(0, 2).join('.')}, ${os.machine()}`,
    processors: os.cpus().length,
    node: process.versions.node,
    load: [loadBefore, loadAfter],
  }
}

/** Ten worktrees beyond the first: the sum of the first ten measured, or, where there are fewer, their mean times ten. */
function tenWorktrees(disk) {
  const counted = disk.slice(0, 10)
  const total = (key) => Math.round((counted.reduce((sum, one) => sum + one[key], 0) * 10) / counted.length)
  const keys = ['bytes', 'inodes', 'entries', 'blocks', 'own']
  return { ...Object.fromEntries(keys.map((key) => [key, total(key)])), counted: counted.length }
}

const milliseconds = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2))
const mebibytes = (bytes) => (bytes / 1048576 >= 100 ? (bytes / 1048576).toFixed(0) : (bytes / 1048576).toFixed(1))
const factor = (value) => (value >= 10 ? value.toFixed(0) : value.toFixed(1))
const spread = ({ median, p10, p90 }) => `${milliseconds(median)} (${milliseconds(p10)}–${milliseconds(p90)})`
const row = (cells) => `| ${cells.join(' | ')} |\n`
const table = (head, rows) => row(head) + row(head.map((_, index) => (index === 0 ? '---' : '---:'))) + rows.map(row).join('')

function markdown(report) {
  const { project, machine: at, spawn, tools, missing, bars } = report
  const times = tools.map((tool) => [
    `${tool.title} ${tool.version}`,
    ...phases.flatMap(([key]) => [spread(tool[key]), `${factor(tool[key].ratio)}×`]),
  ])
  const disks = tools.map(({ title, tenWorktrees: ten }) => [
    ten.counted < 10 ? `${title} (${ten.counted} measured, × ${factor(10 / ten.counted)})` : title,
    mebibytes(ten.bytes), ten.inodes.toLocaleString('en'), mebibytes(ten.own), mebibytes(ten.blocks),
    ten.entries.toLocaleString('en'),
  ])
  return `${project.name}: ${project.packages} packages in the lock, ${project.workspaces} workspaces. ${at.fileSystem}; ` +
    `${at.kernel}, ${at.processors} processors, node ${at.node}. ` +
    `Load ${at.load.map((load) => load.toFixed(1)).join(' to ')}. ` +
    `Rounds: ${tools.map((tool) => `${tool.id} ${tool.create.rounds}`).join(', ')}.\n\n` +
    'Wall time in ms from fork to exit: median (10th to 90th percentile); × is the ratio of medians to pfnm.\n\n' +
    table(['', ...phases.flatMap(([, title]) => [title, '×'])], times) +
    `\nThe harness itself: \`/bin/true\` takes ${spread(spawn)} ms (${spawn.rounds} times in the same rounds). It is in every number; ` +
    `without it a new worktree costs pfnm ${milliseconds(tools[0].create.median - spawn.median)} ms.\n\n` +
    'Ten worktrees beyond the first:\n\n' +
    table(['', 'MiB (statvfs)', 'inodes (statvfs)', 'MiB (own blocks)', 'MiB (all blocks)', 'entries'], disks) +
    '\nOwn blocks: without files that have more than one name.\n\n' +
    `Locks: ${tools.map((tool) => `${tool.id}: ${tool.lockOrigin}`).join('; ')}.\n\n` +
    bars.map((one) => `- ${one.tool}: ${factor(one.ratio)} × pfnm's time for a new worktree, bar ${bar}: ${one.met ? 'met' : '**missed**'}\n`).join('') +
    missing.map((one) => `- ${one.id} could not be measured: ${one.why}\n`).join('')
}

/** Writes peers.json, peers.md and peers.dat; tells whether every bar is met. */
export function write(directory, { project, machine: at, tools, missing, spawn, place }) {
  const results = tools.map((tool) => {
    const measured = Object.fromEntries(phases.map(([key]) => [key, summary(tool.results[key])]))
    for (const [key] of phases) measured[key].ratio = measured[key].median / summary(tools[0].results[key]).median
    return {
      id: tool.id,
      title: tool.title,
      version: tool.version,
      ...(tool.pinned && tool.pinned !== tool.version ? { pinned: tool.pinned } : {}),
      lockOrigin: tool.lockOrigin,
      arguments: tool.install,
      ...measured,
      tenWorktrees: tenWorktrees(tool.disk),
      disk: tool.disk,
    }
  })
  const bars = results
    .filter(({ id }) => barred.includes(id))
    .map(({ id, create }) => ({ tool: id, ratio: create.ratio, bar, met: create.ratio >= bar }))
  const report = { schema: 'pfnm.bench-peers/1', project, machine: at, spawn, tools: results, bars, missing }
  const clean = (text) => text.replaceAll(place, '<scratch>')
  const text = clean(markdown(report))
  fs.writeFileSync(path.join(directory, 'peers.json'), clean(`${JSON.stringify(report, null, 1)}\n`))
  fs.writeFileSync(path.join(directory, 'peers.md'), text)
  fs.writeFileSync(path.join(directory, 'peers.dat'), results.map((tool) =>
    `${[tool.title.replaceAll(', ', '\\n').replace(' link', ''),
      ...phases.flatMap(([key]) => [tool[key].median, tool[key].p10, tool[key].p90])].join('\t')}\n`).join(''))
  process.stdout.write(text)
  return bars.every((one) => one.met)
}
