import { expect, test } from 'vitest';
import { planStep } from '../../../../src/custody/steps/plan-step.ts';
import { settleStep } from '../../../../src/custody/steps/settle-step.ts';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { houseAccount } from '../../../../src/ledger/account-id.ts';
import { readUp, useDepositWorld } from '../../../support/deposits.ts';

const world = useDepositWorld();

test('what failed for good keeps nothing waiting for ever', async () => {
  const { database, chains } = world;
  const { db } = database;
  await readUp(world.reader('MATIC'));
  await db.query('UPDATE chain_cursors SET leased_until = now()');
  const treasury = await houseWallet(db, 'treasury', 'MATIC');
  await db.transaction(async (tx) => {
    await planStep(tx, {
      saga: 'bridge',
      sagaId: 'brg_1',
      step: 'burn',
      chain: 'MATIC',
      wallet: treasury,
      arrives: [
        {
          chain: 'MATIC',
          address: treasury.address,
          asset: 'USDC',
          account: houseAccount('receivables', 'USDC', 'MATIC'),
          knownBy: { proof: null },
        },
      ],
    });
    await tx.query("UPDATE chain_steps SET state = 'asked', asked_at = now() WHERE saga_id = 'brg_1'");
    await settleStep(tx, { sagaId: 'brg_1', step: 'burn' }, { state: 'failed', reason: 'refused', gasCost: 0n });
  });
  const outsider = await chains.outsider({ tokens: [{ asset: 'USDC', atomic: 5_000_000n }] });
  await outsider.sendToken({ asset: 'USDC', to: treasury.address, atomic: 5_000_000n });
  await chains.mine('MATIC', 2);
  await readUp(world.reader('MATIC'));
  const { rows } = await db.query('SELECT atomic FROM undecided_arrivals');
  expect(rows).toEqual([]);
});
