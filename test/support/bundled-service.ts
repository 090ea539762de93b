import { fileURLToPath } from 'node:url';
import { bundle } from '../../scripts/bundle.mjs';

const fromHere = (path: string) => fileURLToPath(new URL(path, import.meta.url));

let bundled: Promise<string> | undefined;

/** The script beside this one and the built service in a few files, as `paywright` itself is. Made once in each process that runs tests. */
export function bundledService(): Promise<string> {
  bundled ??= bundleScript();
  return bundled;
}

async function bundleScript(): Promise<string> {
  const outdir = fromHere(`../../dist/.bundled-${process.pid}`);
  await bundle({ entry: fromHere('./ends-at.mjs'), outdir });
  return `${outdir}/ends-at.mjs`;
}
