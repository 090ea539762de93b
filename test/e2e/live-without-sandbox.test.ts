import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';

const source = fileURLToPath(new URL('../../src/', import.meta.url));
const sandbox = fileURLToPath(new URL('../../sandbox/', import.meta.url));
const packages = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** As though the folder were not there: whatever is imported from it is looked for when it is loaded, and not found. */
const withoutSandbox: Plugin = {
  name: 'without-sandbox',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\./ }, ({ path, importer }) => {
      const { href } = new URL(path, pathToFileURL(importer));
      if (!fileURLToPath(href).startsWith(sandbox)) return undefined;
      asked.push({ from: importer.slice(source.length), path: fileURLToPath(href).slice(sandbox.length) });
      return { path: './no/open-sandbox.mjs', external: true };
    });
    // Assets and migrations are where they are.
    onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
      loader: 'ts',
    }));
  },
};

const live = {
  PAYWRIGHT_MODE: 'live',
  // Nothing listens there.
  DATABASE_URL: 'postgres://paywright:hunter2@127.0.0.1:1/paywright',
  PUBLIC_URL: 'https://pay.example.com/',
  PAYWRIGHT_SECRET: randomBytes(32).toString('base64'),
  DENY_LIST_FILE: 'none',
  SMTP_URL: 'smtps://user:hunter2@mail.internal',
  MAIL_FROM: 'Paywright <pay@example.com>',
  TWILIO_ACCOUNT_SID: 'AC1',
  TWILIO_AUTH_TOKEN: 'hunter2',
  TWILIO_FROM: '+15005550006',
  RPC_URLS_MATIC: 'https://polygon.example.com, https://other.example.com',
};

/** Every import of the sandbox from outside of it. */
const asked: { readonly from: string; readonly path: string }[] = [];

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'paywright-live-'));
  symlinkSync(packages, join(folder, 'node_modules'));
  await build({
    entryPoints: [join(source, 'app/cli.ts')],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'error',
    plugins: [withoutSandbox],
  });
  // Tests may run as root, which live mode refuses.
  const notRoot = 'process.geteuid = () => 1000;';
  writeFileSync(
    join(folder, 'run.mjs'),
    `${notRoot}\nconst { main } = await import('./cli.mjs');\nawait main(process.argv, process.ppid);\n`,
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function start(env: Readonly<Record<string, string>>): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, 'run.mjs'), 'start'], {
    env: { PATH: process.env['PATH'], DATA_DIR: join(folder, 'data'), PORT: '0', ...env },
    encoding: 'utf8',
  });
  return { status, said: stdout + stderr };
}

test('one file loads the sandbox, and from one place', () => {
  expect(asked).toEqual([{ from: 'app/sandbox.ts', path: 'open-sandbox.ts' }]);
});

test('live mode without the folder names the settings that are missing', () => {
  const { status, said } = start({ PAYWRIGHT_MODE: 'live' });
  expect(said).toContain('Live mode does not start until this is fixed:');
  expect(said).toContain('DATABASE_URL is missing');
  expect(status).toBe(1);
});

test('live mode with its settings loads everything, and goes as far as the database', () => {
  const { status, said } = start(live);
  expect(said).toContain('The database does not answer: check DATABASE_URL');
  expect(status).toBe(1);
});

// Refused before anything is asked of the database, which would belong to a sandbox from then on.
test.each([
  ['its own database', {}],
  ['a database of the operator', { DATABASE_URL: live.DATABASE_URL }],
])('the sandbox does need it, with %s', (_, env) => {
  const { status, said } = start(env);
  expect(said).toContain('This build has no sandbox: set PAYWRIGHT_MODE to live.');
  expect(status).toBe(1);
});
