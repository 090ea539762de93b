import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { getAddress, type Hex } from 'viem';
import type { SignedAuthorization } from '../../chains/authorization.ts';
import { type Database, isUnavailable } from '../../kernel/db/database.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { createNotice } from '../../kernel/jobs/wakes.ts';
import type { Amount } from '../../money/amount.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { lockPayers } from './end-claims.ts';
import type { Holding } from './funds.ts';
import { createGatherer } from './gather.ts';

/** A payment and the one request it pays for. */
export interface NewClaim {
  readonly protocol: string;
  readonly chain: ChainId;
  readonly token: Hex;
  readonly amount: Amount;
  readonly authorization: SignedAuthorization;
  readonly resource: string;
  readonly fingerprint: Buffer;
  readonly identifier: string | undefined;
  /** An external facilitator submits it. */
  readonly submittedElsewhere: boolean;
  /** The payer's credit limit. */
  readonly mostCredit: bigint;
  /** Undefined when an external facilitator has checked it. */
  readonly holding: Holding | undefined;
  readonly clearsDebt: boolean;
}

export type Claimed =
  /** The caller holds the lease and serves it now. */
  | { readonly is: 'claimed'; readonly id: string; readonly holder: string }
  /** It must arrive before it is served. */
  | { readonly is: 'prepaid'; readonly id: string }
  | { readonly is: 'known'; readonly id: string }
  | { readonly is: 'identifier_taken' | 'in_debt' | 'ours' | 'short' | 'not_owed' };

interface ClaimedRow {
  readonly outcome: Claimed['is'];
  readonly claimId: string | null;
}

/** How long a claim is leased to one process. After a crash the next request with the same payment takes over. */
export const leaseSeconds = 15;

/** Wakes the loop that settles. */
export const claimsTopic = 'payment_claims';

/** Claims many payments in one commit, in one order, so that two processes cannot deadlock. */
export function createClaimer(db: Database): (claim: NewClaim) => Promise<Claimed> {
  // After the commit: commits that notify would wait for each other.
  const notice = createNotice(db, claimsTopic);

  async function claimAll(claims: readonly NewClaim[]): Promise<readonly Claimed[]> {
    const sorted = claims
      .map((claim, place) => ({ claim, place, id: newId('npy'), holder: randomUUID() }))
      .toSorted((a, b) => compare(keyOf(a.claim), keyOf(b.claim)));
    const of = <Value>(read: (item: (typeof sorted)[number]) => Value) => sorted.map(read);
    const { rows } = await db.query<ClaimedRow>(
      `SELECT outcome, claim_id FROM claim_payments($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
          $16, $17, $18, $19, $20, $21, $22, $23)`,
      [
        of(({ id }) => id),
        of(({ claim }) => claim.protocol),
        of(({ claim }) => claim.chain),
        of(({ claim }) => claim.token.toLowerCase()),
        of(({ claim }) => claim.amount.asset),
        of(({ claim }) => claim.authorization.from.toLowerCase()),
        of(({ claim }) => getAddress(claim.authorization.from)),
        of(({ claim }) => claim.authorization.nonce),
        of(({ claim }) => claim.authorization.to.toLowerCase()),
        of(({ claim }) => claim.amount.atomic),
        of(({ claim }) => claim.authorization.validAfter ?? 0n),
        of(({ claim }) => claim.authorization.validBefore),
        of(({ claim }) => claim.authorization.signature),
        of(({ claim }) => claim.resource),
        of(({ claim }) => claim.fingerprint),
        of(({ claim }) => claim.identifier ?? null),
        of(({ claim }) => claim.submittedElsewhere),
        of(({ holder }) => holder),
        leaseSeconds,
        of(({ claim }) => claim.mostCredit),
        of(({ claim }) => claim.holding?.atomic ?? 0n),
        of(({ claim }) => claim.holding?.settledBefore ?? 0n),
        of(({ claim }) => claim.clearsDebt),
      ],
    );
    if (rows.some(({ outcome }) => outcome === 'claimed' || outcome === 'prepaid')) notice.tell();
    const results: Claimed[] = [];
    for (const [index, { place, holder }] of sorted.entries()) results[place] = toClaimed(rows[index], holder);
    return results;
  }

  return createGatherer<NewClaim, Claimed>({ atOnce: 100, mostInFlight: 2, run: claimAll, isOfOne: isRefused });
}

/** An error of one payment must not fail the others. */
function isRefused(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !isUnavailable(error);
}

function toClaimed(row: ClaimedRow | undefined, holder: string): Claimed {
  if (row === undefined) throw new Error('a payment was claimed without an outcome');
  return { is: row.outcome, id: row.claimId, holder } as Claimed;
}

function keyOf({ authorization: { from, nonce } }: NewClaim): string {
  return `${from.toLowerCase()}${nonce}`;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/**
 * Deletes a claim that was not served, which also frees the payer's credit. If the payment has arrived anyway, because
 * a third party submitted it, the claim stays, and a retry is served.
 */
export async function releaseClaim(db: Database, { id, holder }: { readonly id: string; readonly holder: string }) {
  await db.transaction(async (tx) => {
    await lockPayers(tx, [id]);
    const { rowCount } = await tx.query(
      'DELETE FROM payment_claims WHERE id = $1 AND holder = $2 AND served_at IS NULL AND arrived_at IS NULL',
      [id, holder],
    );
    if (rowCount === 1) return;
    await tx.query(
      'UPDATE payment_claims SET leased_until = NULL WHERE id = $1 AND holder = $2 AND served_at IS NULL',
      [id, holder],
    );
  });
}
