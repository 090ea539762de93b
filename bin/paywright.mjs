#!/usr/bin/env node
import { prepare, runOrRefuse } from '../scripts/prepare.mjs';

await runOrRefuse(async () => {
  await prepare();
  const { main } = await import('../dist/cli.js');
  await main(process.argv);
});
