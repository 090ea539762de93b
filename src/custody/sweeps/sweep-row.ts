import { getAddress, type Hex } from 'viem';
import type { SignedAuthorization } from '../../chains/authorization.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import type { ChainId } from '../../money/catalogue.ts';
import type { DepositToken } from '../wallets/deposit-tokens.ts';

/** Deposits of some wallets, each with its permission to carry them to the treasury. */
export interface Sweep {
  readonly id: string;
  readonly chain: ChainId;
  readonly asset: DepositToken['asset'];
  /** `sending` from the moment before the provider is first asked. */
  readonly status: 'signed' | 'sending' | 'complete' | 'failed';
  /** Always in the same order, because the provider must be asked for the same thing every time. */
  readonly items: readonly SweepItem[];
}

export interface SweepItem extends SignedAuthorization {
  readonly settled: boolean;
}

/** Its one step on a chain. */
export function submitStep(sweepId: string) {
  return { sagaId: sweepId, step: 'submit' } as const;
}

export async function findSweep(db: Queryable, id: string): Promise<Sweep | undefined> {
  const { rows } = await db.query<SweepRow>(`${select} WHERE s.id = $1`, [id]);
  return rows[0] && toSweep(rows[0]);
}

export async function listOpenSweeps(db: Queryable, chain: ChainId): Promise<readonly Sweep[]> {
  const { rows } = await db.query<SweepRow>(`${select} WHERE s.chain = $1 AND s.finished_at IS NULL ORDER BY s.id`, [
    chain,
  ]);
  return rows.map(toSweep);
}

const select = `SELECT s.id, s.chain, s.asset, s.status, (
    SELECT json_agg(json_build_object('address', i.address, 'treasury', i.treasury, 'atomic', i.atomic::text,
        'nonce', i.nonce, 'validBefore', i.valid_before::text, 'signature', i.signature,
        'settled', i.moved IS NOT NULL) ORDER BY i.address COLLATE "C")
      FROM sweep_items i WHERE i.sweep_id = s.id) AS items
   FROM sweeps s`;

interface SweepRow {
  readonly id: string;
  readonly chain: ChainId;
  readonly asset: Sweep['asset'];
  readonly status: Sweep['status'];
  readonly items: readonly {
    readonly address: string;
    readonly treasury: string;
    readonly atomic: string;
    readonly nonce: Hex;
    readonly validBefore: string;
    readonly signature: Hex;
    readonly settled: boolean;
  }[];
}

function toSweep(row: SweepRow): Sweep {
  return {
    id: row.id,
    chain: row.chain,
    asset: row.asset,
    status: row.status,
    items: row.items.map((item) => ({
      from: getAddress(item.address),
      to: getAddress(item.treasury),
      atomic: BigInt(item.atomic),
      nonce: item.nonce,
      validBefore: BigInt(item.validBefore),
      signature: item.signature,
      settled: item.settled,
    })),
  };
}
