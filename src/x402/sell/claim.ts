import type { Hex } from 'viem';
import type { SignedAuthorization } from '../../chains/authorization.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';

export interface Claim {
  readonly id: string;
  readonly chain: ChainId;
  readonly token: Hex;
  readonly amount: Amount;
  readonly authorization: SignedAuthorization;
  readonly resource: string;
  readonly fingerprint: Buffer;
  readonly identifier: string | null;
  readonly prepaid: boolean;
  readonly clearsDebt: boolean;
  readonly leased: boolean;
  readonly answer: unknown;
  readonly settlementId: string | null;
  /** `txHash` brought the payment; `pendingHash` is the transaction that should bring it. */
  readonly txHash: Hex | null;
  readonly pendingHash: Hex | null;
  readonly claimedAt: Date;
  readonly servedAt: Date | null;
  readonly arrivedAt: Date | null;
  readonly writtenOffAt: Date | null;
  readonly lapsedAt: Date | null;
}

export async function findClaim(db: Queryable, id: string): Promise<Claim | undefined> {
  const { rows } = await db.query<ClaimRow>(`${select} WHERE c.id = $1`, [id]);
  return rows[0] && toClaim(rows[0]);
}

export async function findClaims(db: Queryable, ids: readonly string[]): Promise<readonly Claim[]> {
  if (ids.length === 0) return [];
  const { rows } = await db.query<ClaimRow>(`${select} WHERE c.id = ANY ($1) ORDER BY c.id COLLATE "C"`, [ids]);
  return rows.map(toClaim);
}

/** By the payer's identifier, otherwise by the nonce, which is used only once. */
export async function findClaimOf(
  db: Queryable,
  { chain, token }: { readonly chain: ChainId; readonly token: Hex },
  {
    from,
    nonce,
    identifier,
  }: Pick<SignedAuthorization, 'from' | 'nonce'> & { readonly identifier: string | undefined },
): Promise<Claim | undefined> {
  const { rows } = await db.query<ClaimRow>(
    `${select} WHERE c.chain = $1 AND c.token = lower($2) AND c.payer = lower($3) AND (c.nonce = $4 OR c.identifier = $5)
      ORDER BY c.identifier IS NOT DISTINCT FROM $5 DESC LIMIT 1`,
    [chain, token, from, nonce, identifier ?? null],
  );
  return rows[0] && toClaim(rows[0]);
}

/** In a fixed order, because the provider must get the identical request every time. */
export async function claimsOfSettlement(db: Queryable, settlementId: string): Promise<readonly Claim[]> {
  const { rows } = await db.query<ClaimRow>(`${select} WHERE c.settlement_id = $1 ORDER BY c.id COLLATE "C"`, [
    settlementId,
  ]);
  return rows.map(toClaim);
}

const select = `SELECT c.id, c.chain, c.token, c.asset, c.payer, c.nonce, c.pay_to, c.atomic, c.valid_after, c.valid_before,
    c.signature, c.resource, c.fingerprint, c.identifier, c.prepaid, c.clears_debt, coalesce(c.leased_until > clock_timestamp(), false) AS leased, c.answer,
    c.settlement_id, c.tx_hash, (SELECT s.hash FROM chain_steps s WHERE s.saga_id = c.settlement_id AND s.step = 'submit')
      AS pending_hash, c.claimed_at, c.served_at, c.arrived_at, c.written_off_at, c.lapsed_at
   FROM payment_claims c`;

interface ClaimRow {
  readonly id: string;
  readonly chain: ChainId;
  readonly token: Hex;
  readonly asset: Asset;
  readonly payer: Hex;
  readonly nonce: Hex;
  readonly payTo: Hex;
  readonly atomic: bigint;
  readonly validAfter: bigint;
  readonly validBefore: bigint;
  readonly signature: Hex;
  readonly resource: string;
  readonly fingerprint: Buffer;
  readonly identifier: string | null;
  readonly prepaid: boolean;
  readonly clearsDebt: boolean;
  readonly leased: boolean;
  readonly answer: unknown;
  readonly settlementId: string | null;
  readonly txHash: Hex | null;
  readonly pendingHash: Hex | null;
  readonly claimedAt: Date;
  readonly servedAt: Date | null;
  readonly arrivedAt: Date | null;
  readonly writtenOffAt: Date | null;
  readonly lapsedAt: Date | null;
}

function toClaim(row: ClaimRow): Claim {
  const atomic = row.atomic;
  return {
    id: row.id,
    chain: row.chain,
    token: row.token,
    amount: amountOf(row.asset, atomic),
    authorization: {
      from: row.payer,
      to: row.payTo,
      atomic,
      nonce: row.nonce,
      validAfter: row.validAfter,
      validBefore: row.validBefore,
      signature: row.signature,
    },
    resource: row.resource,
    fingerprint: row.fingerprint,
    identifier: row.identifier,
    prepaid: row.prepaid,
    clearsDebt: row.clearsDebt,
    leased: row.leased,
    answer: row.answer,
    settlementId: row.settlementId,
    txHash: row.txHash,
    pendingHash: row.txHash ?? row.pendingHash,
    claimedAt: row.claimedAt,
    servedAt: row.servedAt,
    arrivedAt: row.arrivedAt,
    writtenOffAt: row.writtenOffAt,
    lapsedAt: row.lapsedAt,
  };
}
