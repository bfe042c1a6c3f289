// usage: node resolve.mjs PLAIN LINKED
// Every package that the lock names and the plain tree holds has to resolve from the linked tree to the same name and
// version, looked up as node does: from the real path of whatever owns it. Then every dependency edge of every package
// is followed in both trees. And the linked tree may hold no more names than the plain one.
import { existsSync, lstatSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';

const [plain, linked] = process.argv.slice(2, 4).map((path) => realpathSync(path));
const parse = (path) => JSON.parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, ''));
const lockName = existsSync(join(plain, 'npm-shrinkwrap.json')) ? 'npm-shrinkwrap.json' : 'package-lock.json';
const packages = parse(join(plain, lockName)).packages;

const problems = [];
const count = { keys: 0, edges: 0, absent: 0, own: 0 };
const complain = (text) => problems.push(text);

// The path below the name keeps node from answering for its own module of that name (events, punycode).
const lookUp = (fromDirectory, name) => {
  for (const directory of createRequire(join(fromDirectory, 'from.js')).resolve.paths(`${name}/package.json`) ?? []) {
    const manifest = join(directory, name, 'package.json');
    if (existsSync(manifest)) return realpathSync(manifest);
  }
  return undefined;
};
const identity = (manifest) => {
  if (!manifest) return 'nothing';
  const { name, version } = parse(manifest);
  return `${name}@${version}`;
};
// What a resolution means inside its own tree: a workspace directory has to be the tree's own one.
const ownDirectory = (root, manifest) => {
  const inside = relative(root, dirname(manifest));
  return inside.startsWith('..') || inside.includes('node_modules') ? undefined : inside;
};

const split = (key) => {
  const at = key.lastIndexOf('node_modules/');
  return { owner: key.slice(0, at).replace(/\/$/, ''), name: key.slice(at + 'node_modules/'.length) };
};
const places = new Map();
const place = (root, key) => {
  const id = `${root}\0${key}`;
  if (!places.has(id)) places.set(id, find(root, key));
  return places.get(id);
};
const find = (root, key) => {
  if (!key.includes('node_modules/')) return join(root, key);
  const { owner, name } = split(key);
  const from = place(root, owner);
  const manifest = from && lookUp(from, name);
  return manifest && dirname(manifest);
};

for (const [key, entry] of Object.entries(packages)) {
  if (key === '' || !existsSync(join(plain, key, 'package.json'))) {
    count.absent += key === '' ? 0 : 1;
    continue;
  }
  count.keys += 1;
  const inPlain = realpathSync(join(plain, key, 'package.json'));
  const there = place(linked, key);
  const inLinked = there && join(there, 'package.json');
  if (identity(inPlain) !== identity(inLinked)) {
    complain(`${key}: plain ${identity(inPlain)}, linked ${identity(inLinked)}`);
    continue;
  }
  const own = ownDirectory(plain, inPlain);
  if (own !== undefined) {
    count.own += 1;
    if (ownDirectory(linked, inLinked) !== own) complain(`${key}: ${own} is not the worktree's own directory but ${inLinked}`);
  }
  if (entry.link) continue;
  const names = new Set(
    ['dependencies', 'optionalDependencies', 'peerDependencies'].flatMap((kind) => Object.keys(entry[kind] ?? {})),
  );
  if (!key.includes('node_modules/')) Object.keys(entry.devDependencies ?? {}).forEach((name) => names.add(name));
  for (const name of names) {
    count.edges += 1;
    const fromPlain = lookUp(dirname(inPlain), name);
    const fromLinked = lookUp(dirname(inLinked), name);
    if (identity(fromPlain) !== identity(fromLinked)) {
      complain(`${key} -> ${name}: plain ${identity(fromPlain)}, linked ${identity(fromLinked)}`);
      continue;
    }
    const ownTarget = fromPlain && ownDirectory(plain, fromPlain);
    if (ownTarget !== undefined && ownDirectory(linked, fromLinked) !== ownTarget) {
      complain(`${key} -> ${name}: ${ownTarget} is not the worktree's own directory but ${fromLinked}`);
    }
  }
}

const list = (directory) => (existsSync(directory) ? readdirSync(directory) : []);
const isDirectory = (path) => lstatSync(path).isDirectory();
const topNames = (root) => {
  const names = list(root).filter((name) => !name.startsWith('.'));
  return names.flatMap((name) =>
    name.startsWith('@') && isDirectory(join(root, name)) ? list(join(root, name)).map((inner) => `${name}/${inner}`) : [name],
  );
};
const sameNames = (where, plainNames, linkedNames) => {
  const [a, b] = [new Set(plainNames), new Set(linkedNames)];
  for (const name of a) if (!b.has(name)) complain(`${where}: ${name} is missing`);
  for (const name of b) if (!a.has(name)) complain(`${where}: ${name} is extra`);
};
const OUR_DOT_NAMES = new Set([
  ...['.pf', '.pf-dir', '.pf-shared', '.worktree-provisioned'],
  ...['.cache', '.vite', '.vite-temp', '.vitest', '.vitest-cache', '.tmp'],
]);
const holders = ['', ...Object.keys(packages).filter((key) => key !== '' && !key.includes('node_modules/'))];
for (const holder of holders) {
  const [a, b] = [plain, linked].map((root) => join(root, holder, 'node_modules'));
  const where = join(holder, 'node_modules');
  sameNames(where, topNames(a), topNames(b));
  sameNames(join(where, '.bin'), list(join(a, '.bin')), list(join(b, '.bin')));
  const dots = (root) => list(root).filter((name) => name.startsWith('.') && !OUR_DOT_NAMES.has(name));
  sameNames(`${where} (dot names)`, dots(a), dots(b));
  for (const name of list(join(a, '.bin'))) {
    const [fromPlain, fromLinked] = [a, b].map((root) => {
      const path = join(root, '.bin', name);
      return existsSync(path) ? realpathSync(path) : undefined;
    });
    if (fromPlain === undefined || fromLinked === undefined) {
      if (fromPlain !== fromLinked) complain(`${where}/.bin/${name}: leads nowhere in one of the trees`);
      continue;
    }
    const tail = (path) => path.slice(path.lastIndexOf('/node_modules/'));
    const isWrapper = lstatSync(join(b, '.bin', name)).isFile();
    const isOwn = ownDirectory(plain, fromPlain) !== undefined;
    if (isOwn ? !isWrapper && relative(plain, fromPlain) !== relative(linked, fromLinked) : tail(fromPlain) !== tail(fromLinked)) {
      complain(`${where}/.bin/${name}: plain ${fromPlain}, linked ${fromLinked}`);
    }
    if ((lstatSync(fromLinked).mode & 0o111) === 0) complain(`${where}/.bin/${name}: not executable`);
  }
}

for (const text of problems.slice(0, 40)) console.log(text);
if (problems.length > 40) console.log(`… ${problems.length - 40} more`);
console.log(
  `${count.keys} packages and ${count.edges} dependency edges compared, ${count.own} of them own directories, ` +
    `${count.absent} keys not installed by npm, ${problems.length} differences`,
);
process.exit(problems.length === 0 && count.keys > 0 ? 0 : 1);
