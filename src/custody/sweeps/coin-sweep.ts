import { getAddress, type Hex } from 'viem';
import type { Queryable } from '../../kernel/db/database.ts';
import type { ChainId, Coin } from '../../money/catalogue.ts';

/** Deposits of one wallet, which that wallet itself sends to the treasury. */
export interface CoinSweep {
  readonly id: string;
  readonly chain: ChainId;
  readonly asset: Coin;
  readonly walletId: string;
  readonly treasury: Hex;
  readonly atomic: bigint;
  /** How much gas its transaction may use. */
  readonly gasLimit: bigint;
  /** How often gas was lent for it, and how much the last time. */
  readonly loans: number;
  readonly loan: bigint;
  readonly status: 'lending' | 'moving' | 'complete' | 'failed';
}

/** Its newest loan. The first is called as the checkpoints are. */
export function lendStep({ id, loans }: Pick<CoinSweep, 'id' | 'loans'>) {
  return { sagaId: id, step: loans <= 1 ? 'lend' : `lend_${loans}` };
}

export function moveStep(sweepId: string) {
  return { sagaId: sweepId, step: 'move' } as const;
}

export async function findCoinSweep(db: Queryable, id: string): Promise<CoinSweep | undefined> {
  const { rows } = await db.query<CoinSweepRow>(
    'SELECT id, chain, asset, wallet_id, treasury, atomic, gas_limit, loans, loan, status FROM coin_sweeps WHERE id = $1',
    [id],
  );
  return rows[0] && toCoinSweep(rows[0]);
}

interface CoinSweepRow {
  readonly id: string;
  readonly chain: ChainId;
  readonly asset: Coin;
  readonly walletId: string;
  readonly treasury: string;
  readonly atomic: bigint;
  readonly gasLimit: bigint;
  readonly loans: number;
  readonly loan: bigint | null;
  readonly status: CoinSweep['status'];
}

function toCoinSweep({ walletId, treasury, atomic, gasLimit, loan, ...row }: CoinSweepRow): CoinSweep {
  return {
    ...row,
    walletId: walletId,
    treasury: getAddress(treasury),
    atomic: atomic,
    gasLimit: gasLimit,
    loan: loan ?? 0n,
  };
}
