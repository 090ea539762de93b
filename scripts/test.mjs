// npm test: makes the checkout ready, then runs the tests.
// npm test -- bridge, or payments/bridge: the unit and integration tests of one room, which is named as in src/; with a path, only what lies there.
// npm run test:matrix: the files that try every combination, in full. With --rest, only what npm test does not run like that.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare, root, runOrRefuse } from './prepare.mjs';
import { endProcesses, removeFolder } from './test-processes.mjs';

const given = process.argv.slice(2);
const isMatrix = given.includes('--matrix');
const isRest = given.includes('--rest');
const args = given.filter((word) => word !== '--matrix' && word !== '--rest');
// A word asks for quick feedback about one room. What takes long is asked for by its path.
const isRoom =
  !isMatrix && args.length > 0 && args.every((word) => /^(?!-|\.|\/|src\/|sandbox\/|test\/|.*\.ts$)/.test(word));
// Every process loads the whole service first: for a few files, two are sooner done than four.
if (isRoom) args.push('--exclude=test/e2e/**', '--maxWorkers=2');
args.push(`--tagsFilter=${chooseTests()}`);

/** A combination is tagged `matrix`, or `representative` if it is one of the few that npm test takes, or `longer` if it only lasts longer. */
function chooseTests() {
  if (isMatrix) return isRest ? 'matrix || longer' : 'matrix || representative || longer';
  return isRoom ? '!matrix && !representative && !longer && !thorough' : '!matrix';
}
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

await runOrRefuse(async () => {
  // What is tested is built while the database is set up (`test/support/global-setup.ts`).
  await prepare({ only: 'install' });
  // Before there is anything to end and remove.
  const stopped = new Promise((resolve) => {
    for (const name of stopSignals) process.on(name, () => resolve(name));
  });
  // Everything that a test writes outside of the database lies in here. Like /tmp, it is open to other users, as which some tests run.
  const folder = mkdtempSync(join(tmpdir(), 'paywright-test-'));
  chmodSync(folder, 0o1777);
  // A process group of its own, so that Ctrl-C comes to us alone, and whatever the run has started is found by its group.
  const vitest = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, TMPDIR: folder, TEST_MATRIX: String(isMatrix) },
    detached: true,
  });
  const ended = new Promise((resolve) => vitest.once('exit', resolve));
  const code = await Promise.race([ended, stopped.then((name) => 128 + constants.signals[name])]);
  await endProcesses({ leader: vitest.pid, folder });
  removeFolder(folder);
  process.exitCode = code ?? 1;
});
