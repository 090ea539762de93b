// npm run check: everything that can be said about the code without running it.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { prepare, Refusal, root, runOrRefuse } from './prepare.mjs';

const checks = [
  ['types', 'typescript/bin/tsc', ['--noEmit', '-p', '.']],
  ['format and lint', '@biomejs/biome/bin/biome', ['ci', '.']],
  ['promises and exhaustiveness', 'eslint/bin/eslint.js', ['src', 'test', 'bench', '--max-warnings=0']],
  [
    'imports',
    'dependency-cruiser/bin/dependency-cruise.mjs',
    ['src', '--config', '.dependency-cruiser.mjs'],
    sawModules,
  ],
  ['nothing unused', 'knip/bin/knip.js', []],
];

await runOrRefuse(async () => {
  await prepare();
  const failed = checks.filter((check) => !passes(check)).map(([name]) => name);
  if (failed.length > 0) throw new Refusal(`Failed: ${failed.join(', ')}.`);
});

function passes([name, tool, args, alsoHolds = () => true]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'node_modules', tool), ...args], {
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
