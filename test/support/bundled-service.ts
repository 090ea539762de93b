import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundle } from '../../scripts/bundle.mjs';

const fromHere = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const entry = fromHere('./ends-at.mjs');

let bundled: Promise<string> | undefined;

/** The script beside this one and the built service in a few files, as `paywright` itself is. Made once for each build. */
export function bundledService(): Promise<string> {
  bundled ??= bundleScript();
  return bundled;
}

/** Its folder is named after what it is made of, and is part of the build: the next build takes it away. */
async function bundleScript(): Promise<string> {
  const parts = [fromHere('../../dist/.built-from'), entry].map((file) => readFileSync(file));
  const digest = createHash('sha256').update(Buffer.concat(parts)).digest('hex').slice(0, 16);
  const outdir = fromHere(`../../dist/.ends-at-${digest}`);
  if (!existsSync(outdir)) await makeInOneGo(outdir);
  return `${outdir}/ends-at.mjs`;
}

/** Beside its place and then renamed, so that another process finds all of it or nothing. */
async function makeInOneGo(outdir: string): Promise<void> {
  const fresh = `${outdir}.${randomUUID()}`;
  try {
    await bundle({ entry, outdir: fresh });
    renameSync(fresh, outdir);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    // Another process has made the same meanwhile.
    if (!existsSync(outdir)) throw error;
  }
}
