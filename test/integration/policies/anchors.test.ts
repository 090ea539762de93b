import { beforeAll, expect, test } from 'vitest';
import { createSecrets } from '../../../src/kernel/secrets/secrets.ts';
import { type AnchorParts, beginAnchor } from '../../../src/policies/decisions/anchor.ts';
import { sealRoot } from '../../../src/policies/decisions/seal-root.ts';
import { useStartedDatabase } from '../../support/service.ts';

// No process works here, so what is begun stays on its way.
const { db } = useStartedDatabase();
const parts: AnchorParts = { db, networks: new Map(), provider: { name: 'keys' } };
const secrets = createSecrets('a secret that is only good for tests of roots');
const sign = () => sealRoot({ db, secrets }, { always: true });

interface Row {
  readonly root: bigint;
  readonly chain: string;
  readonly status: string;
}

const begun = async () =>
  (await db.query<Row>('SELECT root, chain, status FROM decision_anchors ORDER BY created_at')).rows;

beforeAll(async () => {
  expect(await sign()).toBe(1n);
});

test('a root is begun once, however many processes ask, on whichever chain', async () => {
  await Promise.all([1, 2, 3, 4].map(() => beginAnchor(parts, 'BASE')));
  expect(await begun()).toEqual([{ root: 1n, chain: 'BASE', status: 'sending' }]);
  await Promise.all([1, 2].map(() => beginAnchor(parts, 'MATIC')));
  expect(await begun()).toHaveLength(1);
});

test('an anchor on its way keeps later ones off its chain, and none off another', async () => {
  await sign();
  await beginAnchor(parts, 'BASE');
  expect(await begun()).toHaveLength(1);
  // The operator has left the chain, which may be off for good.
  await Promise.all(['MATIC', 'MATIC', 'BASE'].map((chain) => beginAnchor(parts, chain as 'MATIC')));
  expect(await begun()).toEqual([
    { root: 1n, chain: 'BASE', status: 'sending' },
    { root: 2n, chain: 'MATIC', status: 'sending' },
  ]);
});
