import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createDenyList } from './deny-list.ts';

const folder = mkdtempSync(join(tmpdir(), 'paywright-deny-'));
afterAll(() => rmSync(folder, { recursive: true }));

test.each(['', '\n', '# nobody yet\n'])('a list without an address (%j) is none, which has to be said', (text) => {
  const file = join(folder, 'list.txt');
  writeFileSync(file, text);
  expect(() => createDenyList(file)).toThrow(
    'DENY_LIST_FILE contains no address. Set DENY_LIST_FILE=none to screen nothing.',
  );
});

test('none clears everybody', async () => {
  expect(await createDenyList(undefined).check({ address: `0x${'a'.repeat(40)}` } as never)).toEqual({ clear: true });
});
