import type { Hex } from 'viem';
import { createSweeper, type Sweeper } from '../../src/deposits/sweep.ts';
import { amountOf } from '../../src/money/amount.ts';
import { houseWallet } from '../../src/wallets/house-wallets.ts';
import { advanceWithdrawalHandler } from '../../src/withdrawals/advance-withdrawal.ts';
import { openWithdrawal } from '../../src/withdrawals/open-withdrawal.ts';
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

/** Everything on Polygon. Call it in a test, when the world is open. */
export function handOf(world: DepositWorld): Hand {
  const { ledger, provider, chains, database, log } = world;
  const { db } = database;
  const { networks } = chains;
  const parts = { db, ledger, provider, networks, logger: log.logger };
  const screening = { check: async () => ({ clear: true }) as const };
  const handler = advanceWithdrawalHandler({ ...parts, screening });
  return {
    sweeper: createSweeper({ ...parts, threshold: 1n, gatherMs: 0 }, chains.network('MATIC')),
    async withdraw(accountId, { gross, fee, to }) {
      return db.transaction(async (tx) => {
        const { id, outcome } = await openWithdrawal(tx, ledger, {
          accountId,
          chain: 'MATIC',
          address: to,
          gross: amountOf('USDC', gross),
          fee: amountOf('USDC', fee),
        });
        if (outcome !== 'posted') throw new Error(`the withdrawal was not opened: ${outcome}`);
        return id;
      });
    },
    advance: (withdrawalId) => handler.run({ withdrawalId }),
    async fillTanks() {
      for (const purpose of ['treasury', 'gas'] as const) {
        const { address } = await houseWallet(db, purpose, 'MATIC');
        await chains.rpc('MATIC', 'hardhat_setBalance', [address, `0x${(10n ** 20n).toString(16)}`]);
      }
    },
  };
}
