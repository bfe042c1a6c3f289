// Writes package.json and package-lock.json of a project as npm would: node lock.mjs DIRECTORY OPTION...
//
//   NAME@VERSION                 a dependency from the registry (PFNM_TEST_REGISTRY, files in PFNM_TEST_PACKAGES)
//   NAME@VERSION:quiet           the same, but the lock does not say that it has an install script
//   NAME@VERSION:gone            the same, but the registry does not have it
//   file:PATH.tgz=NAME@VERSION   a tarball inside the project
//   dir:PATH=NAME@VERSION        a directory inside the project, linked
//   git:URL#COMMIT=NAME@VERSION  a git dependency
//   script:NAME=COMMAND          a script of the project's own
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const [directory, ...options] = process.argv.slice(2);
const { PFNM_TEST_PACKAGES: packages, PFNM_TEST_REGISTRY: registry } = process.env;
const project = { name: 'project', version: '1.0.0' };
const entries = {};
const scripts = {};
const dependencies = {};

const digest = (bytes) => `sha512-${createHash('sha512').update(bytes).digest('base64')}`;

function split(text) {
  const at = text.lastIndexOf('@');
  return { name: text.slice(0, at), version: text.slice(at + 1) };
}

function describe(entry, manifest) {
  const runs = ['preinstall', 'install', 'postinstall'].some((script) => manifest.scripts?.[script]);
  if (runs) entry.hasInstallScript = true;
  if (manifest.bin) entry.bin = manifest.bin;
  if (manifest.dependencies) entry.dependencies = manifest.dependencies;
  return entry;
}

function fromRegistry(text) {
  const [spec, flag] = text.split(':');
  const { name, version } = split(spec);
  const resolved = `${registry}/${name}/-/${name}-${version}.tgz`;
  const entry = { version, resolved, integrity: digest('nobody has it') };
  if (flag !== 'gone') {
    entry.integrity = digest(readFileSync(`${packages}/${name}/${version}.tgz`));
    describe(entry, JSON.parse(readFileSync(`${packages}/${name}/${version}.json`, 'utf8')));
    if (flag === 'quiet') delete entry.hasInstallScript;
  }
  dependencies[name] = version;
  entries[`node_modules/${name}`] = entry;
}

for (const option of options) {
  const [, kind, rest] = /^(?:(file|dir|git|script):)?(.*)$/s.exec(option);
  const [left, right] = [rest.slice(0, rest.lastIndexOf('=')), rest.slice(rest.lastIndexOf('=') + 1)];
  if (kind === undefined) {
    fromRegistry(rest);
  } else if (kind === 'script') {
    scripts[rest.slice(0, rest.indexOf('='))] = rest.slice(rest.indexOf('=') + 1);
  } else {
    const { name, version } = split(right);
    if (kind === 'file') {
      dependencies[name] = `file:${left}`;
      entries[`node_modules/${name}`] = { version, resolved: `file:${left}`, integrity: digest(readFileSync(`${directory}/${left}`)) };
    } else if (kind === 'git') {
      dependencies[name] = left;
      entries[`node_modules/${name}`] = { version, resolved: left };
    } else {
      dependencies[name] = `file:${left}`;
      const manifest = JSON.parse(readFileSync(`${directory}/${left}/package.json`, 'utf8'));
      entries[left] = describe({ name, version }, manifest);
      entries[`node_modules/${name}`] = { resolved: left, link: true };
    }
  }
}

const sorted = (object) => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
if (Object.keys(scripts).length > 0) project.scripts = scripts;
project.dependencies = sorted(dependencies);
const extra = existsSync(`${directory}/package.extra.json`) ? JSON.parse(readFileSync(`${directory}/package.extra.json`, 'utf8')) : {};
const root = { name: project.name, version: project.version, dependencies: project.dependencies };
if (scripts.install || scripts.postinstall || scripts.preinstall) root.hasInstallScript = true;
writeFileSync(`${directory}/package.json`, `${JSON.stringify({ ...project, ...extra }, null, 2)}\n`);
const lock = { name: project.name, version: project.version, lockfileVersion: 3, requires: true, packages: { '': root, ...sorted(entries) } };
writeFileSync(`${directory}/package-lock.json`, `${JSON.stringify(lock, null, 2)}\n`);
