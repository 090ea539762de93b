import { expect, test } from 'vitest';
import { reportReserves } from '../../../../src/custody/reserves/report.ts';
import { planStep } from '../../../../src/custody/steps/plan-step.ts';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { houseAccount } from '../../../../src/ledger/account-id.ts';
import { endLeases, readUp, useDepositWorld } from '../../../support/deposits.ts';

const world = useDepositWorld();

test('the first that ever comes to a chain is in flight while it is undecided', async () => {
  const { database, chains, log } = world;
  const { db } = database;
  await readUp(world.reader('BASE'));
  await endLeases(database);
  const treasury = await houseWallet(db, 'treasury', 'BASE');
  const gas = await houseWallet(db, 'treasury', 'MATIC');
  await db.transaction((tx) =>
    planStep(tx, {
      saga: 'bridge',
      sagaId: 'brg_1',
      step: 'burn',
      chain: 'MATIC',
      wallet: gas,
      arrives: [
        {
          chain: 'BASE',
          address: treasury.address,
          asset: 'USDC',
          account: houseAccount('receivables', 'USDC', 'BASE'),
          knownBy: { proof: null },
        },
      ],
    }),
  );
  const outsider = await chains.outsider({
    chains: ['BASE'],
    tokens: [{ chain: 'BASE', asset: 'USDC', atomic: 5_000_000n }],
  });
  await outsider.sendToken({ chain: 'BASE', asset: 'USDC', to: treasury.address, atomic: 5_000_000n });
  await chains.mine('BASE', 2);
  await readUp(world.reader('BASE'));
  const { rows } = await db.query('SELECT atomic FROM undecided_arrivals');
  expect(rows).toHaveLength(1);
  const { reserves } = await reportReserves({
    db,
    networks: chains.networks,
    logger: log.logger,
    chainTimeoutMs: 60_000,
  });
  const row = reserves.find(({ chain, asset }) => chain === 'BASE' && asset === 'USDC');
  expect(row?.difference).toBe('0');
});
