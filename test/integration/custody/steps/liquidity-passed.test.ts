import { expect, test } from 'vitest';
import { planStep } from '../../../../src/custody/steps/plan-step.ts';
import { serveLiquidity } from '../../../../src/custody/steps/serve-liquidity.ts';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { useDepositWorld } from '../../../support/deposits.ts';

const world = useDepositWorld();
const stateOf = async (sagaId: string) =>
  (await world.database.db.query<{ state: string }>('SELECT state FROM chain_steps WHERE saga_id = $1', [sagaId]))
    .rows[0]?.state;

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
  await serveLiquidity(parts, { chain: 'ETH', asset: 'USDC' });
  expect(await stateOf('last')).toBe('ready');
});
