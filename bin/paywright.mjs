#!/usr/bin/env node
import { isPackage, prepare, refuseUnprepared, runOrRefuse } from '../scripts/prepare.mjs';
import { loadUserCli } from '../scripts/user-cli.mjs';

// Remembered before minutes of preparation: when npm is gone by then, we are not to start unseen.
const startedBy = process.ppid;

await runOrRefuse(async () => {
  const args = process.argv.slice(2);
  const ready = await loadUserCli();
  if (ready !== undefined && !ready.isOperators(args)) return ready.run(args, process.env);
  // Where money is real, what runs is what was built on purpose, and nothing is fetched on the way.
  if (process.env.PAYWRIGHT_MODE === 'live') refuseUnprepared();
  else await prepare();
  const users = ready ?? (await loadUserCli());
  if (users !== undefined && !users.isOperators(args)) return users.run(args, process.env);
  const { main } = await import(isPackage ? '../dist/src/app/cli.js' : '../dist/bundled/cli.mjs');
  await main(process.argv, startedBy);
});
