// usage: node compare-tree.mjs A B [--no-write-bits] [--skip PATH]... [--known PATH]...
// Compares two trees entry by entry: path, type, mode, link text, content. --no-write-bits leaves the write bits of the
// modes and the modes of directories out (an install is sealed read-only). --skip leaves a path and what is below it
// out of both; --known reports a differing path as known and goes on. A PATH may hold * for anything but a slash and
// ** for anything.
import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

const [a, b, ...options] = process.argv.slice(2);
const writeBits = !options.includes('--no-write-bits');
const patterns = (option) =>
  options
    .flatMap((value, index) => (options[index - 1] === option ? [value] : []))
    .map((glob) =>
      glob
        .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
        .replace(/\*\*/g, '\0')
        .replace(/\*/g, '[^/]*')
        .replace(/\0/g, '.*'),
    );
const skipped = patterns('--skip').map((source) => new RegExp(`^${source}(/.*)?$`));
const known = patterns('--known').map((source) => new RegExp(`^${source}$`));
const matches = (expressions, path) => expressions.some((expression) => expression.test(path));

const describe = (path, stat) => {
  if (stat.isSymbolicLink()) return `link ${readlinkSync(path)}`;
  const bits = writeBits ? 0o7777 : 0o7555;
  const mode = (stat.mode & bits).toString(8).padStart(4, '0');
  if (stat.isDirectory()) return writeBits ? `directory ${mode}` : 'directory';
  if (!stat.isFile()) return `other ${stat.mode.toString(8)}`;
  return `file ${mode} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`;
};
const walk = (root) => {
  const entries = new Map();
  const visit = (path) => {
    for (const name of readdirSync(join(root, path))) {
      const inner = path === '' ? name : `${path}/${name}`;
      if (matches(skipped, inner)) continue;
      const stat = lstatSync(join(root, inner));
      entries.set(inner, describe(join(root, inner), stat));
      if (stat.isDirectory()) visit(inner);
    }
  };
  visit('');
  return entries;
};

const [entriesA, entriesB] = [walk(a), walk(b)];
const differences = [];
let knownCount = 0;
for (const path of new Set([...entriesA.keys(), ...entriesB.keys()])) {
  const [inA, inB] = [entriesA.get(path) ?? 'absent', entriesB.get(path) ?? 'absent'];
  if (inA === inB) continue;
  if (matches(known, path)) {
    knownCount += 1;
    continue;
  }
  differences.push(`${path}: ${inA} | ${inB}`);
}
for (const line of differences.slice(0, 40)) console.log(line);
if (differences.length > 40) console.log(`… ${differences.length - 40} more`);
console.log(`${entriesA.size} and ${entriesB.size} entries, ${differences.length} differences, ${knownCount} known ones`);
process.exit(differences.length === 0 && entriesA.size > 0 ? 0 : 1);
