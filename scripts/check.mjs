// npm run check: everything that can be said about the code without running it.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { prepare, Refusal, root, runOrRefuse } from './prepare.mjs';

const checks = [
  ['types', 'node_modules/typescript/bin/tsc', ['--noEmit', '-p', '.']],
  ['format and lint', 'node_modules/@biomejs/biome/bin/biome', ['ci', '.']],
  ['promises and exhaustiveness', 'node_modules/eslint/bin/eslint.js', ['src', 'test', 'bench', '--max-warnings=0']],
  [
    'imports',
    'node_modules/dependency-cruiser/bin/dependency-cruise.mjs',
    ['src', '--config', '.dependency-cruiser.mjs'],
    sawModules,
  ],
  ['nothing unused', 'node_modules/knip/bin/knip.js', []],
  ['a hash for every package', 'scripts/check-lockfile.mjs', []],
];

await runOrRefuse(async () => {
  await prepare();
  const failed = checks.filter((check) => !passes(check)).map(([name]) => name);
  if (failed.length > 0) throw new Refusal(`Failed: ${failed.join(', ')}.`);
});

function passes([name, tool, args, alsoHolds = () => true]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, tool), ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  const good = status === 0 && alsoHolds(stdout);
  process.stdout.write(`${good ? 'ok    ' : 'FAILED'} ${name}\n`);
  if (!good) process.stdout.write(`${stdout}${stderr}\n`);
  return good;
}

/** With a TypeScript it does not understand, dependency-cruiser reads nothing and finds no fault. */
function sawModules(output) {
  return Number(/\((\d+) modules/.exec(output)?.[1] ?? 0) > 30;
}
