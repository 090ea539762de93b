import type { Hex } from 'viem';
import type { Queryable } from '../../kernel/db/database.ts';
import type { ChainId } from '../../money/catalogue.ts';

export interface PayerKey {
  readonly chain: ChainId;
  readonly token: Hex;
  readonly payer: Hex;
}

/** The total that has arrived from a wallet. */
export async function readSettled(db: Queryable, { chain, token, payer }: PayerKey): Promise<bigint> {
  const { rows } = await db.query<{ settled: bigint }>(
    'SELECT settled FROM payers WHERE chain = $1 AND token = lower($2) AND address = lower($3)',
    [chain, token, payer],
  );
  return rows[0]?.settled ?? 0n;
}

/** `debt` was written off through the payer's fault; `uncollected` can still be collected. */
export interface Owed {
  readonly debt: bigint;
  readonly uncollected: bigint;
}

export async function readOwed(db: Queryable, { chain, token, payer }: PayerKey): Promise<Owed> {
  const { rows } = await db.query<{ debt: bigint; uncollected: bigint }>(
    `SELECT debt, CASE WHEN failed_since IS NULL THEN 0 ELSE credit END AS uncollected
       FROM payers WHERE chain = $1 AND token = lower($2) AND address = lower($3)`,
    [chain, token, payer],
  );
  return { debt: rows[0]?.debt ?? 0n, uncollected: rows[0]?.uncollected ?? 0n };
}

/** A payment that may have moved but is not booked yet. */
export interface UnderWay {
  readonly nonce: Hex;
  readonly atomic: bigint;
  readonly prepaid: boolean;
}

/** Payments beyond this number count as not moved. */
const mostUnderWay = 500;

/** Anyone may submit a payment, so `everything` includes payments that are in no settlement of ours. */
export async function readUnderWay(
  db: Queryable,
  { chain, token, payer }: PayerKey,
  which: 'everything' | 'in settlements',
): Promise<{ readonly settled: bigint; readonly underWay: readonly UnderWay[] }> {
  const { rows } = await db.query<{ settled: bigint; nonce: Hex | null; atomic: bigint; prepaid: boolean }>(
    `SELECT p.settled, c.nonce, c.atomic, c.prepaid
       FROM payers p LEFT JOIN payment_claims c ON (c.chain, c.token, c.payer) = (p.chain, p.token, p.address)
        AND (c.settlement_id IS NOT NULL OR $5) AND c.arrived_at IS NULL AND c.written_off_at IS NULL AND c.lapsed_at IS NULL
      WHERE p.chain = $1 AND p.token = lower($2) AND p.address = lower($3) ORDER BY c.claimed_at LIMIT $4`,
    [chain, token, payer, mostUnderWay, which === 'everything'],
  );
  return {
    settled: rows[0]?.settled ?? 0n,
    underWay: rows.flatMap(({ nonce, atomic, prepaid }) =>
      nonce === null ? [] : [{ nonce, atomic: atomic, prepaid }],
    ),
  };
}
