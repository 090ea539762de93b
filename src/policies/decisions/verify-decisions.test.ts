import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  decisionsScript,
  type ExportedChain,
  flipBit,
  forged,
  makeExport,
  verifyDecisions,
  verifyEntry,
} from '../../../test/support/decisions.ts';
import { canonicalJson, firstHead, recordHash } from './record.ts';

const whole = makeExport(10_000);
const { entries } = whole;
const headBefore = (index: number) =>
  index === 0 ? firstHead : Buffer.from((entries[index - 1] as { head: string }).head, 'hex');

/** Whether the verifier is satisfied with a text in the place of an entry. */
function isAccepted(text: string, index: number): boolean {
  try {
    verifyEntry(JSON.parse(text), { seq: index + 1, head: headBefore(index) });
    return true;
  } catch {
    return false;
  }
}

function complaint(file: unknown, published?: unknown): string {
  try {
    verifyDecisions(file, published);
    return 'no complaint';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('of 10,000 records', () => {
  test('all are verified', () => {
    expect(verifyDecisions(whole)).toMatchObject({ from: 1, to: 10_000, sealedTo: 10_000 });
    expect(entries.every((entry, index) => isAccepted(JSON.stringify(entry), index))).toBe(true);
  });

  test('each is found in which a single bit has changed', () => {
    for (const [index, entry] of entries.entries()) {
      const text = JSON.stringify(entry);
      const bit = randomInt(8 * Buffer.byteLength(text));
      expect(isAccepted(flipBit(text, bit), index), `bit ${bit} of record ${index + 1}`).toBe(false);
    }
  });

  test('one that was changed is named', () => {
    for (const index of [0, 1, 4_999, 9_999]) {
      const { record, head } = entries[index] as (typeof entries)[number];
      const changed = entries.with(index, { record: { ...record, amount: '0' } as never, head });
      expect(complaint({ ...whole, entries: changed })).toMatch(new RegExp(`^record ${index + 1} was changed`));
    }
  });

  test('one that was removed is named', () => {
    for (const index of [0, 1, 4_999, 9_998]) {
      const left = entries.toSpliced(index, 1);
      expect(complaint({ ...whole, entries: left })).toMatch(new RegExp(`^record ${index + 1} is missing`));
    }
    expect(complaint({ ...whole, entries: entries.slice(0, -1) })).toMatch(
      /^record 10000, which .* is not in the file$/,
    );
    // A record of which only the hash is shown has no number of its own.
    const hidden = entries.map(({ head }, index) =>
      index === 20 ? { hash: '00'.repeat(32), head } : (entries[index] as object),
    );
    expect(complaint({ ...whole, entries: hidden })).toMatch(/^record 21 was changed/);
  });

  test('two that changed places are named', () => {
    for (const [one, other] of [
      [0, 1],
      [77, 9_000],
    ] as const) {
      const swapped = entries.with(one, entries[other] as never).with(other, entries[one] as never);
      expect(complaint({ ...whole, entries: swapped })).toMatch(new RegExp(`^record ${one + 1} is missing`));
    }
  });
});

/** Whether the file is refused as it would be when it is read. */
function isRefused(text: string, published?: unknown): boolean {
  try {
    const file = JSON.parse(text);
    if (JSON.stringify(file) === text) verifyDecisions(file, published);
    else return true;
  } catch {
    return true;
  }
  return false;
}

test.each([1, 5])('every single bit counts, with %i accounts in the tree', (accounts) => {
  const file = makeExport(1, accounts - 1);
  const hidden = { ...file, entries: file.entries.map((entry) => ({ hash: hashOf(entry), head: entry.head })) };
  for (const shown of [file, hidden]) {
    const text = JSON.stringify(shown);
    for (const published of [undefined, { keys: file.keys }]) {
      expect(isRefused(text, published)).toBe(false);
      for (let bit = 0; bit < 8 * Buffer.byteLength(text); bit++)
        expect(isRefused(flipBit(text, bit), published), `bit ${bit} of ${text}`).toBe(true);
    }
  }
});

function hashOf({ record }: ExportedChain['entries'][number]): string {
  return recordHash(canonicalJson(record)).toString('hex');
}

test('a root that another key has signed is refused', () => {
  const { keys: others } = makeExport(1);
  const file = makeExport(3);
  expect(complaint(file, { keys: others })).toBe('the signature of the root is wrong');
  expect(complaint(file, { keys: [] })).toMatch(/^the key the-key, .* is not published$/);
  // An error page in the place of the published keys.
  for (const published of [{}, { status: 404 }]) expect(complaint(file, published)).toMatch(/is not published$/);
  expect(complaint(forged(file, { keys: others }))).toBe('the signature of the root is wrong');
});

test('a root that is anchored elsewhere, or whose number is anchored with another root, is refused', () => {
  const file = makeExport(3);
  const { keys } = file;
  const anchor = { root: '2', ...file.seal?.anchor, data: `${file.seal?.root.root}${'0'.repeat(64)}` };
  expect(complaint(file, { keys, anchors: [anchor] })).toBe('no complaint');
  const others = [{ txHash: '0x1' }, { data: '00'.repeat(64) }];
  for (const other of others)
    expect(complaint(file, { keys, anchors: [{ ...anchor, ...other }] })).toBe(
      'the root is published with another anchor',
    );
});

test('a forged path, place or chain of another account is refused', () => {
  const file = makeExport(3);
  const seal = file.seal as NonNullable<typeof file.seal>;
  const path = 'the path leads to another root than the signed one';
  const ofOther = forged(file, { account: 'PA-00000009' });
  expect(complaint(ofOther)).toBe('a record is of another account');
  // Nor is it believed when no record says whose it is.
  const hidden = ofOther.entries.map((entry) => ({ hash: hashOf(entry), head: entry.head }));
  expect(complaint({ ...ofOther, entries: hidden })).toBe(path);
  for (const changed of [
    { path: seal.path.toReversed() },
    { path: seal.path.slice(1) },
    { path: [...seal.path, '00'.repeat(32)] },
    { place: '0' },
    { salt: '00'.repeat(32) },
  ])
    expect(complaint(forged(file, { seal: { ...seal, ...changed } }))).toBe(path);
  const signed = { ...seal, root: { ...seal.root, at: '2020-01-01T00:00:00.000Z' } };
  expect(complaint(forged(file, { seal: signed }))).toBe('the signature of the root is wrong');
});

test('the end of a chain that no root covers is verified for its order only', () => {
  const file = makeExport(3);
  expect(verifyDecisions(forged(file, { seal: null }))).toMatchObject({ from: 1, to: 3, sealedTo: 0 });
  expect(complaint(forged(file, { seal: null, account: 'PA-00000009' }))).toBe('a record is of another account');
  const previous = { seq: '1', head: file.entries[0]?.head as string };
  const proof = { ...forged(file, { previous }), entries: file.entries.slice(1) };
  expect(verifyDecisions(proof)).toMatchObject({ from: 2, to: 3, sealedTo: 3 });
});

describe('the script', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'decisions-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function run(text: string, ...words: string[]): Promise<string> {
    const path = join(folder, 'decisions.json');
    await writeFile(path, text);
    const ran = promisify(execFile)(process.execPath, [fileURLToPath(decisionsScript), path, ...words]);
    return ran.then(
      ({ stdout }) => stdout,
      ({ code, stdout }: { code: number; stdout: string }) => `${code}: ${stdout}`,
    );
  }

  const file = makeExport(3);
  const text = JSON.stringify(file);

  test('says what is shown, what is covered, and whose keys were believed', async () => {
    expect(await run(text)).toBe(
      'Verified: records 1 to 3 of PA-00000001 are complete and unchanged. Root 2, signed at 2026-01-15T10:17:00.000Z, covers them up to 3, by the keys in the file.\n',
    );
    const entries = file.entries.map((entry, index) =>
      index === 0 ? { hash: hashOf(entry), head: entry.head } : entry,
    );
    const hidden = { ...file, entries };
    expect(await run(JSON.stringify(hidden))).toContain('unchanged, 1 of them only as hashes. Root 2');
    const open = JSON.stringify(forged(file, { seal: null }));
    expect(await run(open)).toMatch(/unchanged\. No signed root covers them yet\.\n$/);
  });

  test('reads a file with blanks and line breaks, and none in which something stands twice', async () => {
    expect(await run(JSON.stringify(file, null, 2))).toMatch(/^Verified: /);
    for (const twice of [text.replace('"amount":', '"amount":"1000","amount":'), text.replace('{', '{"seal":null,')])
      expect(await run(twice)).toMatch(/^1: Not verified: .* names something twice/);
    expect(await run(text.replace('día', 'd\\u00eda'))).toMatch(/^1: Not verified: .* is not as the service wrote it/);
  });

  test('refuses what is no such file, and an unfinished command', async () => {
    for (const other of ['', 'null', '[]', '{}', '7', '{"entries":[null],"checksum":""}'])
      expect(await run(other), other).toMatch(/^1: Not verified: /);
    for (const words of [['--rpc'], ['--rpc', ''], ['--unknown']])
      expect(await run(text, ...words), words.join()).toMatch(/^1: Not verified: /);
  });
});
