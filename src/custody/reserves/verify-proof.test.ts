import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type AccountProof, buildTestTree, verifyProof } from '../../../test/support/proofs.ts';
import { assetIds, assets } from '../../money/catalogue.ts';

// With many neighbours an owner has only a few leaves, so that each thing in them can be changed in every way.
const neighbours = Array.from({ length: 24 }, (_, index) => 1_000_000n * BigInt(index + 1));
const tree = buildTestTree([12_500_000n, ...neighbours], { house: 7_000_000n });
const proof = tree.proofOf(0);
const published = {
  reserves: [],
  at: 'later',
  proof: {
    snapshotId: proof.snapshotId,
    at: proof.at,
    roots: proof.proofs.map(({ chain, asset, root, total }) => ({ chain, asset, root, total })),
  },
};

type Json = string | number | Json[] | { [key: string]: Json };
const copy = <Value>(value: Value): Value => structuredClone(value);

/** Every way to change one thing: each text, number, field and list item, wherever it stands. */
function* mutations(value: Json): Generator<[string, Json]> {
  if (typeof value === 'string') {
    const first = value[0] ?? '';
    yield ['another first character', (first === '1' ? '2' : '1') + value.slice(1)];
    yield ['another last character', value.slice(0, -1) + (value.endsWith('7') ? '8' : '7')];
    for (const changed of ['', `${value}0`, `${value}.0`, `0${value}`, `-${value}`, `${value} `, value.slice(1)]) {
      yield ['other text', changed];
    }
    yield ['a number instead', Number(value)];
  } else if (typeof value === 'number') {
    for (const changed of [value + 1, value - 1, -value - 1, value + 0.5, value + 2 ** 32, 1e99, String(value)]) {
      yield ['another number', changed];
    }
  } else if (Array.isArray(value)) {
    if (value.length > 0) {
      yield ['without its first', value.slice(1)];
      yield ['without its last', value.slice(0, -1)];
      yield ['its first twice', [value[0] as Json, ...value]];
      yield ['its first in place of its last', [...value.slice(0, -1), value[0] as Json]];
    }
    yield ['nothing in it', []];
    // Leaves are all alike, and so are the steps of a branch: the first two and the last stand for the others.
    for (const [index, item] of value.entries()) {
      if (index > 1 && index < value.length - 1) continue;
      for (const [how, changed] of mutations(item)) yield [`[${index}] ${how}`, value.with(index, changed)];
    }
  } else {
    for (const [key, item] of Object.entries(value)) {
      const { [key]: _, ...without } = value;
      yield [`without ${key}`, without];
      for (const [how, changed] of mutations(item)) yield [`${key}: ${how}`, { ...value, [key]: changed }];
    }
    yield ['a field more', { ...value, extra: '1' }];
  }
}

describe('the stand-alone script', () => {
  test('takes what is true', () => {
    expect(verifyProof(proof)).toEqual(['12.5 USDC on MATIC']);
    expect(verifyProof(proof, published)).toEqual(['12.5 USDC on MATIC']);
    expect(verifyProof(proof, proof.proofs[0]?.root.toUpperCase())).toHaveLength(1);
  });

  test('refuses a proof in which any one thing was changed', () => {
    let tried = 0;
    for (const [how, changed] of mutations(proof as unknown as Json)) {
      if (JSON.stringify(changed) === JSON.stringify(proof)) continue;
      expect(() => verifyProof(changed), how).toThrow();
      tried++;
    }
    expect(tried).toBeGreaterThan(500);
  });

  test('refuses a proof that leads to another root, total, time or snapshot than is published', () => {
    for (const [how, changed] of mutations(published.proof as unknown as Json)) {
      // Roots of other assets may well be published beside it.
      if (how.endsWith('a field more') || JSON.stringify(changed) === JSON.stringify(published.proof)) continue;
      expect(() => verifyProof(proof, { ...published, proof: changed }), how).toThrow();
    }
    expect(() => verifyProof(proof, { ...published, proof: null })).toThrow();
    expect(() => verifyProof(proof, '0'.repeat(64))).toThrow(/another root/);
  });

  test('refuses a leaf that belongs to somebody else', () => {
    expect(() => verifyProof({ ...proof, owner: tree.proofOf(1).owner })).toThrow(/another (root|total)/);
  });

  test('refuses a balance that leaves out one of its leaves', () => {
    const less = copy(proof) as AccountProof;
    const [part] = less.proofs;
    if (part === undefined) throw new Error('there is a proof');
    const dropped = part.leaves.find(({ amount }) => amount !== '0');
    part.leaves = part.leaves.filter((leaf) => leaf !== dropped);
    part.balance = tree.text(12_500_000n - BigInt(Math.round(Number(dropped?.amount) * 1e6)));
    expect(() => verifyProof(less)).toThrow(/another (root|total)/);
  });

  test.each([null, 7, 'proof', [[]], {}, { proofs: [] }, { ...proof, proofs: [] }, { ...proof, proofs: [null] }])(
    'refuses %j, which is no proof',
    (value) => {
      expect(() => verifyProof(value)).toThrow();
    },
  );

  test('says so in one line, with an exit code, also through a link', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'paywright-proof-'));
    try {
      const script = join(folder, 'verify.mjs');
      await symlink(fileURLToPath(new URL('../../../scripts/verify-proof.mjs', import.meta.url)), script);
      const write = async (name: string, value: unknown) => {
        await writeFile(join(folder, name), typeof value === 'string' ? value : JSON.stringify(value));
        return join(folder, name);
      };
      const run = async (...args: string[]) => {
        const ran = promisify(execFile)(process.execPath, [script, ...args]);
        return ran.then(
          ({ stdout }) => ({ code: 0, stdout }),
          ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
        );
      };
      const good = await write('proof.json', proof);
      const roots = await write('reserves.json', published);
      const bad = await write('bad.json', { ...proof, at: '2026-01-02T03:04:05.679Z' });
      const rubbish = await write('rubbish.json', '{');
      const answers = await Promise.all([run(good), run(good, roots), run(bad), run(rubbish), run()]);
      expect(answers.map(({ code }) => code)).toEqual([0, 0, 1, 1, 1]);
      const [alone, compared, tampered] = answers.map(({ stdout }) => stdout);
      expect(alone).toMatch(/^Proven: 12\.5 USDC on MATIC of PA-00000000, .* compare them with \/reserves\.\n$/);
      expect(compared).toMatch(/^Proven: .* is part of the published root\.\n$/);
      expect(tampered).toMatch(/^Not proven: .*\.\n$/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

test('the script knows every asset of the catalogue, which it cannot import', () => {
  const script = readFileSync(new URL('../../../scripts/verify-proof.mjs', import.meta.url), 'utf8');
  const written = /^const decimals = \{ (.*) \};$/m.exec(script)?.[1];
  expect(written).toBe(assetIds.map((asset) => `${asset}: ${assets[asset].decimals}`).join(', '));
});
