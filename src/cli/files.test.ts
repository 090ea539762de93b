import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { configFolder, readPrivate, writePrivate } from './files.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'paywright-files-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

it('writes files that only this user can read, in a folder of the same kind, and leaves nothing beside them', () => {
  const parent = join(folder(), 'paywright');
  const file = join(parent, 'login.json');
  for (const apiKey of ['one', 'two']) {
    writePrivate(file, { apiKey });
    expect(readPrivate(file, () => {})).toEqual({ apiKey });
  }
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(parent).mode & 0o777).toBe(0o700);
  expect(readdirSync(parent)).toEqual(['login.json']);
});

it('closes a file that others could read, and says so', () => {
  const file = join(folder(), 'login.json');
  writePrivate(file, { apiKey: 'one' });
  chmodSync(file, 0o640);
  const warnings: string[] = [];
  expect(readPrivate(file, (line) => warnings.push(line))).toEqual({ apiKey: 'one' });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(warnings).toHaveLength(1);
});

it('ignores a damaged file, and says so', () => {
  const file = join(folder(), 'login.json');
  writeFileSync(file, '{"apiKey', { mode: 0o600 });
  const warnings: string[] = [];
  expect(readPrivate(file, (line) => warnings.push(line))).toBeUndefined();
  expect(warnings).toHaveLength(1);
  expect(readFileSync(file, 'utf8')).toBe('{"apiKey');
  expect(readPrivate(join(folder(), 'nothing'), () => {})).toBeUndefined();
});

it('is in XDG_CONFIG_HOME if that is a full path', () => {
  expect(configFolder({ XDG_CONFIG_HOME: '/home/ada/.xdg' })).toBe('/home/ada/.xdg/paywright');
  expect(configFolder({ XDG_CONFIG_HOME: 'relative' })).toMatch(/\.config\/paywright$/);
});
