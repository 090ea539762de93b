// npm test: makes the checkout ready, then runs every test. Arguments are passed on: npm test -- src/money
import { join } from 'node:path';
import { prepare, root, run, runOrRefuse } from './prepare.mjs';

await runOrRefuse(async () => {
  await prepare();
  await run(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...process.argv.slice(2)], {
    failure: 'Some tests failed.',
  });
});
