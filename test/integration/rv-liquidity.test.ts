import { expect, test } from 'vitest';
import { planStep } from '../../src/chain-steps/plan-step.ts';
import { serveLiquidity } from '../../src/chain-steps/serve-liquidity.ts';
import { amountOf } from '../../src/money/amount.ts';
import { houseWallet } from '../../src/wallets/house-wallets.ts';
import { useDepositWorld } from '../support/deposits.ts';

const world = useDepositWorld();
const plan = (sagaId: string, atomic: bigint) =>
  world.database.db.transaction((tx) =>
    planStep(tx, {
      saga: 'withdrawal',
      sagaId,
      step: 'pay',
      chain: 'MATIC',
      leaves: [{ amount: amountOf('USDC', atomic) }],
    }),
  );
const stateOf = async (sagaId: string) =>
  (await world.database.db.query<{ state: string }>('SELECT state FROM chain_steps WHERE saga_id = $1', [sagaId]))
    .rows[0]?.state;

test('several that cannot be served hold up the others for as long as one does', async () => {
  const { database, chains, log } = world;
  const { db } = database;
  const { address } = await houseWallet(db, 'treasury', 'MATIC');
  await chains.mint('MATIC', 'USDC', address, 5n);
  for (let i = 0; i < 4; i++) await plan(`large_${i}`, 100n);
  await plan('small', 5n);
  const parts = { db, networks: chains.networks, logger: log.logger, passAfterMs: 300 };
  const began = Date.now();
  while ((await stateOf('small')) !== 'ready' && Date.now() - began < 5_000) {
    await serveLiquidity(parts, { chain: 'MATIC', asset: 'USDC' });
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  console.log('waited', Date.now() - began);
  expect(Date.now() - began).toBeLessThan(2 * 300 + 200);
});

test('whoever is behind 500 that were passed is served all the same', async () => {
  const { database, chains, log } = world;
  const { db } = database;
  const { address } = await houseWallet(db, 'treasury', 'ETH');
  await chains.mint('ETH', 'USDC', address, 5n);
  await db.query(
    `WITH s AS (INSERT INTO chain_steps (id, saga, saga_id, step, chain, state)
       SELECT gen_random_uuid(), 'withdrawal', 'w' || i, 'pay', 'ETH', 'waiting' FROM generate_series(1, 500) i RETURNING id)
     INSERT INTO chain_step_leaves (step_id, chain, asset, atomic, short_since, passed_at)
       SELECT id, 'ETH', 'USDC', 100, now() - interval '1 hour', now() - interval '1 hour' FROM s`,
  );
  await db.transaction((tx) =>
    planStep(tx, {
      saga: 'withdrawal',
      sagaId: 'last',
      step: 'pay',
      chain: 'ETH',
      leaves: [{ amount: amountOf('USDC', 5n) }],
    }),
  );
  const parts = { db, networks: chains.networks, logger: log.logger };
  for (let i = 0; i < 5; i++) await serveLiquidity(parts, { chain: 'ETH', asset: 'USDC' });
  expect(await stateOf('last')).toBe('ready');
});
