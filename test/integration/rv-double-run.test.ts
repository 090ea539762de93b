import { expect, test } from 'vitest';
import { startWorker } from '../../src/jobs/worker.ts';
import { createSagaRunner } from '../../src/sagas/run-saga.ts';
import { houseWallet } from '../../src/wallets/house-wallets.ts';
import type { WalletProvider } from '../../src/wallets/provider.ts';
import { withdrawalHandler } from '../../src/withdrawals/advance-withdrawal.ts';
import { stranger } from '../contract/workbench.ts';
import { handOf } from '../support/custody.ts';
import { useDepositWorld } from '../support/deposits.ts';
import { fund } from '../support/ledger.ts';

const world = useDepositWorld();

test('one withdrawal is run by one job at a time', async () => {
  const { database, chains, ledger, provider, log } = world;
  const { db } = database;
  const hand = handOf(world);
  await hand.fillTanks();
  const { address } = await houseWallet(db, 'treasury', 'MATIC');
  await chains.mint('MATIC', 'USDC', address, 1_000_000_000n);
  const users = await world.newUsers(10);
  await fund(ledger, users, 100_000_000n);

  const asked = new Map<string, number>();
  const counting: WalletProvider = {
    ...provider,
    sendToken: async (send) => {
      asked.set(send.idempotencyKey, (asked.get(send.idempotencyKey) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, 300)); // as long as Circle takes
      return provider.sendToken(send);
    },
  };
  const running = new Map<string, number>();
  let overlaps = 0;
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
  const jobs = runner.jobs(['MATIC']).map((job) => ({
    ...job,
    run: async (payload: unknown) => {
      const { id } = payload as { id: string };
      if ((running.get(id) ?? 0) > 0) overlaps++;
      running.set(id, (running.get(id) ?? 0) + 1);
      try {
        await job.run(payload);
      } finally {
        running.set(id, (running.get(id) ?? 1) - 1);
      }
    },
  }));
  const worker = await startWorker({ db, url: database.url, logger: log.logger, handlers: jobs, schedules: [] });
  for (const user of users) {
    await hand.withdraw(user.id, { gross: 10_000_000n, fee: 1n, to: stranger() });
    await new Promise((resolve) => setTimeout(resolve, 800));
  }
  await worker.stop();
  console.log('asks per key', [...asked.values()], 'overlapping runs', overlaps);
  expect([...asked.values()]).toEqual(users.map(() => 1));
}, 60_000);
