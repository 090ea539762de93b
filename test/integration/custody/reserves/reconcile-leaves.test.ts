import { expect, test } from 'vitest';
import { reconcileBooks } from '../../../../src/custody/reserves/reconcile-books.ts';
import { reconcileSteps } from '../../../../src/custody/reserves/reconcile-steps.ts';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { useDepositWorld } from '../../../support/deposits.ts';

const world = useDepositWorld();

test('sweeps that Circle failed without a transaction are no finding', async () => {
  const { db } = world.database;
  const gas = await houseWallet(db, 'gas', 'MATIC');
  for (const id of ['swe_1', 'swe_2']) {
    await db.query(
      `INSERT INTO chain_steps (id, saga, saga_id, step, chain, wallet_id, state, asked_at, provider_ref, hash, settled_at)
       VALUES (gen_random_uuid(), 'sweep', $1, 'submit', 'MATIC', $2, 'confirmed', now(), 'ref-' || $1, NULL, now())`,
      [id, gas.id],
    );
  }
  expect(await reconcileBooks(db, [])).toEqual([]);
});

test('every leaf of every step is compared', async () => {
  const { db } = world.database;
  const treasury = await houseWallet(db, 'treasury', 'MATIC');
  await db.query(
    `WITH s AS (INSERT INTO chain_steps (id, saga, saga_id, step, chain, wallet_id, state, asked_at, provider_ref, hash, settled_at)
       SELECT ('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid, 'swap', 'swp_' || i, 'swap', 'MATIC', $1, 'confirmed',
              now(), 'r' || i, '0x' || lpad(i::text, 64, '0'), now() FROM generate_series(1, 501) i RETURNING id, saga_id)
     INSERT INTO chain_step_leaves (step_id, chain, wallet_id, asset, atomic, settled_at)
       SELECT id, 'MATIC', $1, a, 5, now() FROM s, unnest(ARRAY['USDC', 'EURC']) a WHERE a = 'USDC' OR saga_id = 'swp_500'`,
    [treasury.id],
  );
  const findings = await reconcileSteps(db, world.chains.network('MATIC'));
  expect(findings.filter((one) => one.includes('swp_500 '))).toHaveLength(2);
});
