// npm run screenshots: pictures of the pages for docs/images. With a folder and "every": all states in all looks, to look at.
import { join } from 'node:path';
import { compile, prepare, root, run, runOrRefuse } from './prepare.mjs';

await runOrRefuse(async () => {
  await prepare();
  await compile('tsconfig.bench.json', 'dist-bench');
  await run(process.execPath, [join(root, 'dist-bench/bench/screenshots.js'), ...process.argv.slice(2)], {
    failure: 'The pictures could not be taken.',
  });
});
