import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const fromRoot = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

interface Lockfile {
  packages: Record<string, { integrity?: string; resolved?: string; link?: boolean; version?: string }>;
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paywright-lockfile-'));
});
afterAll(() => rm(folder, { recursive: true }));

function check(file: string): Promise<{ code: number; said: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [fromRoot('scripts/check-lockfile.mjs'), file], (error, said) => {
      resolve({ code: Number(error?.code ?? 0), said });
    });
  });
}

/** The check's verdict about a copy of our lockfile in which something was changed. */
async function checkChanged(change: (lockfile: Lockfile) => void) {
  const lockfile: Lockfile = JSON.parse(await readFile(fromRoot('package-lock.json'), 'utf8'));
  change(lockfile);
  const file = join(folder, 'package-lock.json');
  await writeFile(file, JSON.stringify(lockfile));
  return check(file);
}

const viem = ({ packages }: Lockfile) => packages['node_modules/viem'] ?? {};

describe('the check of the lockfile', () => {
  test('is content with ours, and with a folder of our own that is linked', async () => {
    expect(await check(fromRoot('package-lock.json'))).toEqual({ code: 0, said: '' });
    const linked = await checkChanged(({ packages }) => {
      packages['node_modules/ours'] = { link: true, resolved: 'ours' };
    });
    expect(linked).toEqual({ code: 0, said: '' });
  });

  test.each<[string, (lockfile: Lockfile) => void, string]>([
    ['an entry without a hash', (lockfile) => delete viem(lockfile).integrity, 'node_modules/viem has no sha512 hash.'],
    [
      'one with a weak hash',
      (lockfile) => Object.assign(viem(lockfile), { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }),
      'node_modules/viem has no sha512 hash.',
    ],
    [
      'one whose hash is cut short',
      (lockfile) => Object.assign(viem(lockfile), { integrity: viem(lockfile).integrity?.slice(0, -5) }),
      'node_modules/viem has no sha512 hash.',
    ],
    [
      'one that names a registry',
      (lockfile) => Object.assign(viem(lockfile), { resolved: 'https://registry.example.com/viem.tgz' }),
      'node_modules/viem names where it was found.',
    ],
    [
      'no entries',
      (lockfile) => {
        lockfile.packages = {};
      },
      'It names no package.',
    ],
  ])('fails on %s', async (_, change, fault) => {
    expect(await checkChanged(change)).toEqual({ code: 1, said: `${fault}\n` });
  });
});
