// node scripts/pack.mjs before|after: npm calls it around `npm pack`.
//
// The package is for live runs. Its package.json names no development tools and no parts of the sandbox, and a shrinkwrap pins
// every dependency, because npm leaves package-lock.json out of packages and ignores overrides in them.
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, root, runOrRefuse } from './prepare.mjs';

const manifestFile = join(root, 'package.json');
const keptManifest = join(root, 'node_modules', '.paywright-package.json');
const shrinkwrapFile = join(root, 'npm-shrinkwrap.json');

const published = [
  'name',
  'version',
  'private',
  'description',
  'license',
  'type',
  'engines',
  'bin',
  'imports',
  'files',
  'dependencies',
];

/** The package.json that goes into the package. */
export function packedManifest(manifest) {
  const overrides = Object.entries(manifest.overrides ?? {}).filter(([, version]) => version.startsWith('$'));
  return {
    ...Object.fromEntries(published.filter((name) => name in manifest).map((name) => [name, manifest[name]])),
    overrides: Object.fromEntries(overrides),
  };
}

/** The part of the lockfile that the dependencies of a live run need. */
export function packedLock(lock, manifest) {
  const needed = { '': { ...packedManifest(manifest) } };
  const add = (
    from,
    { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} },
  ) => {
    const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
    for (const name of [...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers]) {
      const path = locate(lock.packages, from, name);
      if (path === undefined || path in needed) continue;
      const { dev: _, devOptional: __, ...entry } = lock.packages[path];
      needed[path] = entry;
      add(path, entry);
    }
  };
  add('', { dependencies: manifest.dependencies });
  return { ...lock, packages: Object.fromEntries(Object.entries(needed).sort(([a], [b]) => (a < b ? -1 : 1))) };
}

/** Where Node finds a package: in the node_modules of the package that asks, or of a folder above it. */
function locate(packages, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (path in packages) return path;
    if (folder === '') return undefined;
  }
}

async function before() {
  // A run that was killed has left its own package.json behind.
  after();
  await build();
  const manifest = read(manifestFile);
  copyFileSync(manifestFile, keptManifest);
  write(shrinkwrapFile, packedLock(read(join(root, 'package-lock.json')), manifest));
  write(manifestFile, packedManifest(manifest));
}

function after() {
  if (existsSync(keptManifest)) copyFileSync(keptManifest, manifestFile);
  rmSync(keptManifest, { force: true });
  rmSync(shrinkwrapFile, { force: true });
}

const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const write = (file, value) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await runOrRefuse(process.argv[2] === 'before' ? before : async () => after());
}
