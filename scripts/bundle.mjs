// Puts the built service into a few files: a process that starts spends more than half of its time looking for a thousand.
import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build, stop } from 'esbuild';

/** They are hundreds of small files each, and nothing in them asks where it stands. */
const takenIn = /^(?:viem|ox|abitype|@noble|@scure|zod|isows)(?:\/|$)/;

/** What is built keeps looking for its files where they are; other packages are loaded from where they are. */
function inPlace(outdir) {
  return {
    name: 'in-place',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^[^./]/ }, ({ path }) => (takenIn.test(path) ? undefined : { path, external: true }));
      // Live mode does without the sandbox, and says so when it is asked for one.
      onResolve({ filter: /^\..*\/sandbox\// }, ({ path, resolveDir }) =>
        existsSync(join(resolveDir, path)) ? undefined : { path, external: true },
      );
      onLoad({ filter: /\/dist\/.*\.js$/ }, ({ path }) => {
        if (path.includes('/node_modules/')) return undefined;
        // From the bundle and not by its full path, for the folder may be moved as a whole.
        const place = `new URL(${JSON.stringify(relative(outdir, path))}, import.meta.url).href`;
        return { contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', place) };
      });
    },
  };
}

/** Answers nothing: what `entry` names lies under the same name, with the ending .mjs, in `outdir`. */
export async function bundle({ entry, outdir }) {
  await build({
    entryPoints: [entry],
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'error',
    plugins: [inPlace(outdir)],
  });
  // Its helper process would stay for as long as the service runs.
  await stop();
}
