// npm run bench: one table of measurements from one run. Arguments are passed on: npm run bench -- --json
import { join } from 'node:path';
import { compile, prepare, root, run, runOrRefuse } from './prepare.mjs';

await runOrRefuse(async () => {
  await prepare();
  await compile('tsconfig.bench.json', 'dist-bench');
  await run(process.execPath, [join(root, 'dist-bench/bench/main.js'), ...process.argv.slice(2)], {
    failure: 'The benchmark failed.',
  });
});
