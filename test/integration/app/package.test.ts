import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { packedLock, packedManifest } from '../../../scripts/pack.mjs';

const fromRoot = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const read = (path: string) => JSON.parse(readFileSync(fromRoot(path), 'utf8'));

const needed = [
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'bin/paywright.mjs',
  'dist/src/accounts/passwords/common-passwords.txt',
  'dist/src/app/cli.js',
  'dist/src/cli/main.js',
  'dist/src/migrations/001_kernel.sql',
  'dist/src/web/assets/base.css',
  'dist/src/web/assets/buy.js',
  'docs/grafana/paywright.json',
  'docs/prometheus/paywright.rules.yml',
  'docs/running.md',
  'npm-shrinkwrap.json',
  'package.json',
  'packages/sdk/src/index.js',
  'scripts/prepare.mjs',
  'scripts/user-cli.mjs',
];

const notNeeded = [
  '.env',
  '.paywright/chains/state.json',
  '.paywright/secret',
  'bench/main.ts',
  'dist/.built-from',
  'dist/bundled/cli.mjs',
  'dist/paywright-cli.mjs',
  'dist/sandbox/open-sandbox.js',
  'dist/src/app/cli.js.map',
  'docs/adding-a-coin.md',
  'docs/decisions/0001-embedded-postgres.md',
  'docs/images/buy-phone-light.png',
  'docs/testing.md',
  'package-lock.json',
  'packages/sdk/src/index.d.ts',
  'packages/sdk/src/index.test.ts',
  'sandbox/open-sandbox.ts',
  'scripts/test.mjs',
  'src/app/cli.ts',
  'src/app/guessable.test.ts',
  'test/e2e/start.matrix.test.ts',
];

test('the package holds what a live run needs, and nothing else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'paywright-package-'));
  for (const path of [...needed, ...notNeeded]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), '{}');
  }
  copyFileSync(fromRoot('package.json'), join(folder, 'package.json'));
  const told = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  // Newer versions of npm answer an object by package name instead of a list.
  const [packed] = Object.values<{ files: { path: string }[] }>(JSON.parse(told));
  expect(packed?.files.map(({ path }) => path).toSorted()).toEqual(needed.toSorted());
});

test('the package depends on nothing that only tests or the sandbox use', () => {
  const manifest = read('package.json');
  const packages = Object.keys(packedLock(read('package-lock.json'), manifest).packages);
  for (const name of Object.keys(manifest.dependencies)) expect(packages).toContain(`node_modules/${name}`);
  // Its binaries are optional dependencies of it, one for each platform.
  expect(packages).toContain('node_modules/@node-rs/argon2-linux-x64-gnu');
  for (const name of [...Object.keys(manifest.devDependencies), ...Object.keys(manifest.optionalDependencies)]) {
    expect(packages.filter((path) => path === `node_modules/${name}` && !isShared(name))).toEqual([]);
  }
  expect(Object.keys(packedManifest(manifest))).not.toEqual(expect.arrayContaining(['scripts']));
});

/** Development tools that a dependency of the service needs as well. */
const isShared = (name: string) => ['ajv', 'ajv-formats', '@types/node', '@types/pg'].includes(name);
