// usage: node ls-tree.mjs PLAIN.json LINKED.json
// Compares what `npm ls --all --json` printed for two trees: the edges "parent name@version -> name@version", and the
// missing and invalid packages that npm complains of. Where packages lie is left out, and so are packages that npm calls
// extraneous (it does not count them as an error): links to what is only an optional peer can be among them. Where npm
// shows an optional peer as not there (no version, not missing), the layout has it but does not list it, for the same
// reason; the plain tree may list it.
import { readFileSync } from 'node:fs';

const read = (path) => {
  const edges = new Set();
  const visit = (parent, node) => {
    for (const [name, child] of Object.entries(node.dependencies ?? {})) {
      const id = `${name}@${child.missing ? 'missing' : (child.version?.replace(/^[v=]+/, '') ?? '')}`;
      if (!child.extraneous) edges.add(`${parent} -> ${id}`);
      visit(id, child);
    }
  };
  const tree = JSON.parse(readFileSync(path, 'utf8'));
  visit('root', tree);
  const problems = (tree.problems ?? []).filter((problem) => !problem.startsWith('extraneous:'));
  return { edges, problems: new Set(problems.map((problem) => problem.replace(/ \/.*/, ''))) };
};
const [plain, linked] = process.argv.slice(2, 4).map(read);
// "parent@1.0.0 -> name@" stands for an optional peer that is not shown.
const unshown = (edges) => [...edges].filter((edge) => edge.endsWith('@'));
for (const edge of unshown(linked.edges)) {
  const shown = [...plain.edges].filter((other) => other.startsWith(edge));
  if (shown.length !== 1) continue;
  linked.edges.delete(edge);
  linked.edges.add(shown[0]);
}
const only = (label, a, b) => [...a].filter((item) => !b.has(item)).map((item) => `only ${label}: ${item}`);
const differences = ['problems', 'edges'].flatMap((kind) => [
  ...only('plain', plain[kind], linked[kind]),
  ...only('linked', linked[kind], plain[kind]),
]);
for (const line of differences.slice(0, 20)) console.log(line);
if (differences.length > 20) console.log(`… ${differences.length - 20} more`);
console.log(
  `${plain.edges.size} and ${linked.edges.size} edges, ${plain.problems.size} and ${linked.problems.size} problems, ` +
    `${differences.length} differences`,
);
process.exit(differences.length === 0 ? 0 : 1);
