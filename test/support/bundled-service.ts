import { readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

const fromHere = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** They are hundreds of small files each, and nothing in them asks where it stands. */
const takenIn = /^(?:viem|ox|abitype|@noble|@scure|zod|isows)(?:\/|$)/;

/** The built service keeps looking for its files where they are; other packages are loaded from where they are. */
const inPlace: Plugin = {
  name: 'in-place',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[^./]/ }, ({ path }) => (takenIn.test(path) ? undefined : { path, external: true }));
    onLoad({ filter: /\/dist\/.*\.js$/ }, ({ path }) => {
      if (path.includes('/node_modules/')) return undefined;
      const place = JSON.stringify(pathToFileURL(path).href);
      return { contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', place) };
    });
  },
};

let bundled: Promise<string> | undefined;

/**
 * The script beside this one and the built service in a few files instead of a thousand: a process that lives for a second or
 * two spends half of it looking for them. Made once in each process that runs tests.
 */
export function bundledService(): Promise<string> {
  bundled ??= bundle();
  return bundled;
}

async function bundle(): Promise<string> {
  const outdir = fromHere(`../../dist/.bundled-${process.pid}`);
  await build({
    entryPoints: [fromHere('./ends-at.mjs')],
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'error',
    plugins: [inPlace],
  });
  return `${outdir}/ends-at.mjs`;
}
