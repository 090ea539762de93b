#!/usr/bin/env node
import { prepare, runOrRefuse } from '../scripts/prepare.mjs';

// Remembered before minutes of preparation: when npm is gone by then, we are not to start unseen.
const startedBy = process.ppid;

await runOrRefuse(async () => {
  await prepare();
  const { main } = await import('../dist/cli.js');
  await main(process.argv, startedBy);
});
