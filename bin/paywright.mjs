#!/usr/bin/env node
import { isPackage, prepare, refuseUnprepared, runOrRefuse } from '../scripts/prepare.mjs';

// Remembered before minutes of preparation: when npm is gone by then, we are not to start unseen.
const startedBy = process.ppid;

await runOrRefuse(async () => {
  // Where money is real, what runs is what was built on purpose, and nothing is fetched on the way.
  if (process.env.PAYWRIGHT_MODE === 'live') refuseUnprepared();
  else await prepare();
  const { main } = await import(isPackage ? '../dist/src/app/cli.js' : '../dist/bundled/cli.mjs');
  await main(process.argv, startedBy);
});
