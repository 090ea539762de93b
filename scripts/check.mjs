// npm run check: everything that can be said about the code without running it.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { prepare, Refusal, root, runOrRefuse } from './prepare.mjs';

const checks = [
  ['types', 'node_modules/typescript/bin/tsc', ['--noEmit', '-p', '.']],
  ['format and lint', 'node_modules/@biomejs/biome/bin/biome', ['ci', '.']],
  [
    'promises and exhaustiveness',
    'node_modules/eslint/bin/eslint.js',
    ['src', 'sandbox', 'packages', 'test', 'bench', '--max-warnings=0'],
  ],
  [
    'imports',
    'node_modules/dependency-cruiser/bin/dependency-cruise.mjs',
    ['src', 'sandbox', '--config', '.dependency-cruiser.mjs'],
    sawModules,
  ],
  ['nothing unused', 'node_modules/knip/bin/knip.js', []],
  ['a hash for every package', 'scripts/check-lockfile.mjs', []],
  ['types of the SDK', 'node_modules/typescript/bin/tsc', ['--noEmit', '-p', 'packages/sdk']],
  ['the SDK is that of the routes', 'scripts/generate-sdk.mjs', ['--check']],
  ['the commands are those of the routes', 'scripts/generate-cli.mjs', ['--check']],
];

await runOrRefuse(async () => {
  await prepare();
  // One of them takes as long as all others together, so it runs beside them.
  const passed = new Map();
  const runInTurn = async (some) => {
    for (const check of some) passed.set(check, await passes(check));
  };
  const isLong = ([, tool]) => tool.includes('eslint');
  await Promise.all([runInTurn(checks.filter(isLong)), runInTurn(checks.filter((check) => !isLong(check)))]);
  const failed = checks.filter((check) => !passed.get(check)).map(([name]) => name);
  if (failed.length > 0) throw new Refusal(`Failed: ${failed.join(', ')}.`);
});

async function passes([name, tool, args, alsoHolds = () => true]) {
  const { failed, output } = await run([join(root, tool), ...args]);
  const good = !failed && alsoHolds(output);
  process.stdout.write(`${good ? 'ok    ' : 'FAILED'} ${name}\n`);
  if (!good) process.stdout.write(`${output}\n`);
  return good;
}

function run(args) {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ failed: error !== null, output: stdout + stderr }),
    );
  });
}

/** With a TypeScript it does not understand, dependency-cruiser reads nothing and finds no fault. */
function sawModules(output) {
  return Number(/\((\d+) modules/.exec(output)?.[1] ?? 0) > 30;
}
