// node scripts/check-lockfile.mjs [file]: whether the lockfile says of every package what exactly is to be installed.
// An entry without its hash installs whatever a registry hands out under that name and version.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './prepare.mjs';

const file = process.argv[2] ?? join(root, 'package-lock.json');
const faults = faultsOf(JSON.parse(readFileSync(file, 'utf8')));
for (const fault of faults) process.stdout.write(`${fault}\n`);
process.exitCode = faults.length > 0 ? 1 : 0;

function faultsOf({ packages = {} }) {
  const entries = Object.entries(packages).filter(([path, { link }]) => path !== '' && !link);
  if (entries.length === 0) return ['It names no package.'];
  return entries.flatMap(([path, { integrity, resolved }]) => [
    ...(/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? '') ? [] : [`${path} has no sha512 hash.`]),
    // npm records where it found a package, which people with another registry may not be able to reach.
    ...(resolved === undefined ? [] : [`${path} names where it was found.`]),
  ]);
}
