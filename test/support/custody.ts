import type { Hex } from 'viem';
import type { Network } from '../../src/chains/network.ts';
import { listOpenSweeps, sweepHandler } from '../../src/custody/sweeps/advance-sweep.ts';
import { createSweeper, type Sweeper, type SweepOptions } from '../../src/custody/sweeps/sweep.ts';
import { houseWallet } from '../../src/custody/wallets/house-wallets.ts';
import { createSagaRunner } from '../../src/kernel/sagas/run-saga.ts';
import { amountOf } from '../../src/money/amount.ts';
import { withdrawalHandler } from '../../src/payments/withdrawals/advance-withdrawal.ts';
import { openWithdrawal } from '../../src/payments/withdrawals/open-withdrawal.ts';
import type { WithdrawalSagaParts } from '../../src/payments/withdrawals/withdrawal.ts';
import type { DepositWorld } from './deposits.ts';

/** Deposits, sweeps and withdrawals that go on only when they are told to, so that a test can look in between. */
export interface Hand {
  readonly sweeper: Sweeper;
  /** Takes it from the balance; nothing is sent. */
  withdraw(accountId: bigint, withdrawal: { gross: bigint; fee: bigint; to: Hex }): Promise<string>;
  /** Goes as far as it can: it is signed and sent, or ended when the chain was read that far. */
  advance(withdrawalId: string): Promise<void>;
  /** Gives the house wallets native coin for gas. */
  fillTanks(): Promise<void>;
}

/** Lets every sweep that is under way take its next steps, and opens the next one, as the service does by itself. */
export function sweeperByHand(options: SweepOptions, network: Network): Sweeper {
  const { db, logger } = options;
  const opener = createSweeper(options, network);
  const sagas = createSagaRunner({ db, logger, handlers: [sweepHandler(options)] });
  async function advanceAll(): Promise<void> {
    for (const { id } of await listOpenSweeps(db, network.id)) await sagas.advance({ saga: 'sweep', id });
  }
  return {
    async step() {
      await advanceAll();
      const came = await opener.step();
      await advanceAll();
      return came;
    },
  };
}

/** Everything on Polygon. Call it in a test, when the world is open. */
export function handOf(world: DepositWorld, options: Partial<WithdrawalSagaParts> = {}): Hand {
  const { ledger, provider, chains, database, log } = world;
  const { db } = database;
  const { networks } = chains;
  const parts = { db, ledger, provider, networks, logger: log.logger };
  const screening = { check: async () => ({ clear: true }) as const };
  const sagas = createSagaRunner({
    db,
    logger: log.logger,
    handlers: [withdrawalHandler({ ...parts, screening, ...options })],
  });
  return {
    sweeper: sweeperByHand({ ...parts, threshold: 1n, gatherMs: 0 }, chains.network('MATIC')),
    async withdraw(accountId, { gross, fee, to }) {
      return db.transaction(async (tx) => {
        const { id, outcome } = await openWithdrawal(tx, ledger, {
          accountId,
          chain: 'MATIC',
          address: to,
          gross: amountOf('USDC', gross),
          fee: amountOf('USDC', fee),
        });
        if (outcome.outcome !== 'posted') throw new Error('the withdrawal was not opened');
        return id;
      });
    },
    advance: (id) => sagas.advance({ saga: 'withdrawal', id }),
    async fillTanks() {
      for (const purpose of ['treasury', 'gas'] as const) {
        const { address } = await houseWallet(db, purpose, 'MATIC');
        await chains.rpc('MATIC', 'hardhat_setBalance', [address, `0x${(10n ** 20n).toString(16)}`]);
      }
    },
  };
}
