import { createHash } from 'node:crypto';
import { onlyRow, type Queryable, type Transaction } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import type { CheckoutTotal } from './checkout.ts';

const prefix = 'pwc_';

/**
 * The token that pays a shop. It is derived from the order id and the operator's secret, so it can be sent again although only
 * its hash is stored.
 */
export function newCredentialToken(secrets: Secrets, orderId: string): string {
  return asToken(secrets.hash('payment-credentials', orderId));
}

/** The token that was issued for this order, even if the operator's secret was rotated since. */
export async function issuedToken(db: Queryable, secrets: Secrets, orderId: string): Promise<string> {
  const { tokenHash: kept } = onlyRow(
    await db.query<{ tokenHash: Buffer }>('SELECT token_hash FROM payment_credentials WHERE order_id = $1', [orderId]),
  );
  const token = secrets
    .hashes('payment-credentials', orderId)
    .map(asToken)
    .find((each) => hashToken(each).equals(kept));
  if (token === undefined) throw new Error(`the credential of ${orderId} was made with a secret that is not known`);
  return token;
}

function asToken(hash: Buffer): string {
  return prefix + hash.toString('base64url');
}

function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

export interface NewCredential {
  readonly orderId: string;
  readonly token: string;
  readonly domain: string;
  readonly checkoutId: string;
  readonly total: CheckoutTotal;
}

/** Expires with the order, by the database's clock. */
export async function issueCredential(
  tx: Transaction,
  { orderId, token, domain, checkoutId, total }: NewCredential,
): Promise<void> {
  await tx.query(
    `INSERT INTO payment_credentials (order_id, token_hash, domain, checkout_id, minor, currency, expires_at)
     SELECT $1, $2, $3, $4, $5, $6, o.expires_at FROM orders o WHERE o.id = $1`,
    [orderId, hashToken(token), domain, checkoutId, total.minor, total.currency],
  );
}

/** Makes the credential unusable. Returns false if the shop has already redeemed it. */
export async function voidUnredeemed(tx: Transaction, orderId: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE payment_credentials SET voided_at = clock_timestamp()
      WHERE order_id = $1 AND redeemed_at IS NULL AND voided_at IS NULL`,
    [orderId],
  );
  return rowCount === 1;
}

/** For orders that are released although the credential may have been redeemed. */
export async function voidCredential(tx: Transaction, orderId: string): Promise<void> {
  await tx.query(
    'UPDATE payment_credentials SET voided_at = clock_timestamp() WHERE order_id = $1 AND voided_at IS NULL',
    [orderId],
  );
}

export interface KnownCredential {
  readonly orderId: string;
  readonly domain: string;
  readonly checkoutId: string;
  readonly minor: bigint;
  readonly currency: string;
  readonly redeemKey: string | null;
  readonly isRedeemed: boolean;
  readonly isVoid: boolean;
  /** The order's last deadline. */
  readonly voidAt: Date | null;
  /** Void, expired, or its order ended without payment. */
  readonly isOver: boolean;
  /** Whether the domain has a new owner since the order was opened. */
  readonly changedHands: boolean;
}

/** Locks the credential until the caller commits. A concurrent release waits and then finds it redeemed. */
export async function lockCredential(tx: Transaction, token: string): Promise<KnownCredential | undefined> {
  const { rows } = await tx.query<KnownCredential>(
    `SELECT c.order_id, c.domain, c.checkout_id, c.minor, c.currency,
            c.redeem_key, c.redeemed_at IS NOT NULL AS is_redeemed,
            c.voided_at IS NOT NULL AS is_void, o.void_at,
            c.voided_at IS NOT NULL OR o.status <> 'completed' AND (c.expires_at <= clock_timestamp()
              OR o.finished_at IS NOT NULL) AS is_over,
            m.account_id IS DISTINCT FROM coalesce(o.merchant_id, first.account_id) AS changed_hands
       FROM payment_credentials c JOIN orders o ON o.id = c.order_id
       LEFT JOIN merchants m ON m.domain = o.domain
       -- A domain without an account stays the same shop when its first account proves it.
       LEFT JOIN claimants first ON first.kind = 'domain' AND first.name = o.domain
      WHERE c.token_hash = $1 FOR UPDATE OF c`,
    [hashToken(token)],
  );
  return rows[0];
}

export async function markRedeemed(tx: Queryable, orderId: string, redeemKey: string | undefined): Promise<void> {
  await tx.query(
    'UPDATE payment_credentials SET redeemed_at = clock_timestamp(), redeem_key = $2 WHERE order_id = $1',
    [orderId, redeemKey ?? null],
  );
}
