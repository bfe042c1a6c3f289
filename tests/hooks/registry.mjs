// A small npm registry on loopback: node registry.mjs DIRECTORY PORT-FILE
//
// DIRECTORY/NAME/VERSION.tgz with DIRECTORY/NAME/VERSION.json (the package.json) is NAME@VERSION. Everything else is 404.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

const [directory, portFile] = process.argv.slice(2);

function versionsOf(name) {
  return readdirSync(`${directory}/${name}`).filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -5));
}

function packument(name, base) {
  const versions = {};
  for (const version of versionsOf(name)) {
    const manifest = JSON.parse(readFileSync(`${directory}/${name}/${version}.json`, 'utf8'));
    const tarball = readFileSync(`${directory}/${name}/${version}.tgz`);
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
    versions[version] = { ...manifest, dist: { tarball: `${base}/${name}/-/${name}-${version}.tgz`, integrity } };
  }
  return { name, 'dist-tags': { latest: Object.keys(versions).at(-1) }, versions };
}

const server = createServer((request, response) => {
  const base = `http://127.0.0.1:${server.address().port}`;
  const tarball = /^\/([\w.-]+)\/-\/\1-([\w.-]+)\.tgz$/.exec(request.url);
  try {
    if (tarball) {
      response.end(readFileSync(`${directory}/${tarball[1]}/${tarball[2]}.tgz`));
    } else {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(packument(decodeURIComponent(request.url.slice(1)), base)));
    }
  } catch {
    response.statusCode = 404;
    response.end('{"error":"not found"}');
  }
});
server.listen(0, '127.0.0.1', () => {
  writeFileSync(`${portFile}.new`, String(server.address().port));
  renameSync(`${portFile}.new`, portFile);
});
