import { expect, test } from 'vitest';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import type { WalletProvider } from '../../../../src/custody/wallets/provider.ts';
import { startWorker } from '../../../../src/kernel/jobs/worker.ts';
import { createSagaRunner } from '../../../../src/kernel/sagas/run-saga.ts';
import { withdrawalHandler } from '../../../../src/payments/withdrawals/advance-withdrawal.ts';
import { stranger } from '../../../contract/workbench.ts';
import { handOf } from '../../../support/custody.ts';
import { useDepositWorld } from '../../../support/deposits.ts';
import { fund } from '../../../support/ledger.ts';
import { until } from '../../../support/until.ts';

const world = useDepositWorld();

test('a withdrawal that serves itself is not woken besides: the provider is asked once', {
  tags: ['matrix'],
}, async () => {
  const { database, chains, ledger, provider, log } = world;
  const { db } = database;
  const hand = handOf(world);
  await hand.fillTanks();
  const { address } = await houseWallet(db, 'treasury', 'MATIC');
  await chains.mint('MATIC', 'USDC', address, 1_000_000_000n);
  const users = await world.newUsers(10);
  await fund(ledger, users, 100_000_000n);

  const nothingIsDue = async () => {
    const { rows } = await db.query('SELECT FROM graphile_worker.jobs WHERE run_at <= now() AND locked_at IS NULL');
    return rows.length === 0;
  };
  const asked = new Map<string, number>();
  const counting: WalletProvider = {
    ...provider,
    sendToken: async (send) => {
      asked.set(send.idempotencyKey, (asked.get(send.idempotencyKey) ?? 0) + 1);
      // Until whoever else would ask has had their turn.
      await until('no other job to be due', nothingIsDue);
      return provider.sendToken(send);
    },
  };
  const screening = { check: async () => ({ clear: true }) as const };
  const handler = withdrawalHandler({
    db,
    ledger,
    networks: chains.networks,
    provider: counting,
    screening,
    logger: log.logger,
  });
  const runner = createSagaRunner({ db, logger: log.logger, handlers: [handler] });
  const worker = await startWorker({
    db,
    url: database.url,
    logger: log.logger,
    handlers: runner.jobs(['MATIC']),
    schedules: [],
  });
  for (const user of users) {
    const before = asked.size;
    await hand.withdraw(user.id, { gross: 10_000_000n, fee: 1n, to: stranger() });
    await until('it to be asked for', async () => asked.size > before);
    await until('nothing to be due any more', nothingIsDue);
  }
  await worker.stop();
  expect([...asked.values()]).toEqual(users.map(() => 1));
});
