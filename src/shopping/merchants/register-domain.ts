import { randomBytes } from 'node:crypto';
import type { Transaction } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { merchantErrors } from './errors.ts';
import { newProofToken } from './fetch-proof.ts';
import { findMerchant } from './find-merchant.ts';
import { redeemDomain } from './redeem-domain.ts';

interface Owned {
  readonly accountId: bigint;
  readonly domain: string;
}

/** Null removes the URL: orders then reach the shop over UCP only. */
export async function setOrdersUrl(
  tx: Transaction,
  { accountId, domain, ordersUrl }: Owned & { readonly ordersUrl: string | null },
): Promise<void> {
  const values = [domain, accountId, ordersUrl];
  const { rowCount } = await tx.query(
    'UPDATE merchants SET orders_url = $3, changed_at = clock_timestamp() WHERE domain = $1 AND account_id = $2',
    values,
  );
  if (rowCount !== 0) return;
  const claims = await tx.query(
    'UPDATE merchant_claims SET orders_url = $3 WHERE domain = $1 AND account_id = $2',
    values,
  );
  if (claims.rowCount === 0) throw merchantErrors.merchant_not_found();
}

/**
 * Gives up a domain and pays out what it is owed. The domain stays disabled until an account proves it again: new orders would be
 * owed to the domain's claimant, which is still bound to the former owner.
 */
export async function releaseDomain(tx: Transaction, ledger: Ledger, { accountId, domain }: Owned): Promise<void> {
  const { rowCount: owned } = await tx.query(
    `UPDATE merchants SET account_id = NULL, state = 'disabled', disabled_by = coalesce(disabled_by, 'owner'),
            orders_url = NULL, sealed_orders_secret = NULL, proved_at = NULL, changed_at = clock_timestamp()
      WHERE domain = $1 AND account_id = $2`,
    [domain, accountId],
  );
  const { rowCount: claimed } = await tx.query('DELETE FROM merchant_claims WHERE domain = $1 AND account_id = $2', [
    domain,
    accountId,
  ]);
  if (owned === 0 && claimed === 0) throw merchantErrors.merchant_not_found();
  if (owned !== 0) await redeemDomain(tx, ledger, { domain, accountId });
}

const mostPerAccount = 20;

export interface NewClaim extends Owned {
  readonly ordersUrl: string | undefined;
}

/**
 * Records an account's claim to a domain. Registering again keeps the proof token and creates a new orders secret, to replace a
 * lost or leaked one.
 */
export async function registerDomain(tx: Transaction, secrets: Pick<Secrets, 'seal'>, claim: NewClaim): Promise<void> {
  const { accountId, domain, ordersUrl } = claim;
  // Serializes registrations per account, so that concurrent ones cannot exceed the limit.
  await tx.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
  const sealed = secrets.seal('merchant-orders', newOrdersSecret());
  const isOwn = await changeOwn(tx, { ...claim, sealed });
  const owner = isOwn ? accountId : ((await findMerchant(tx, domain))?.accountId ?? null);
  if (owner !== null && owner !== accountId) throw merchantErrors.domain_taken();
  // A concurrent request proved the domain between the two queries.
  if (owner === accountId && !isOwn) return registerDomain(tx, secrets, claim);
  const { rows: others } = await tx.query(
    `SELECT FROM merchant_claims WHERE account_id = $1 AND domain <> $2 LIMIT ${mostPerAccount}`,
    [accountId, domain],
  );
  if (others.length >= mostPerAccount) throw merchantErrors.too_many_domains();
  await tx.query(
    `INSERT INTO merchant_claims (domain, account_id, token, orders_url, sealed_orders_secret) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (domain, account_id) DO UPDATE
       SET orders_url = coalesce($4, merchant_claims.orders_url), sealed_orders_secret = $5`,
    [domain, accountId, newProofToken(), isOwn ? null : (ordersUrl ?? null), isOwn ? null : sealed],
  );
}

/** Returns whether the account already owns the domain. Locks the merchant row before the claim, as everywhere. */
async function changeOwn(
  tx: Transaction,
  { accountId, domain, ordersUrl, sealed }: NewClaim & { readonly sealed: Buffer },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE merchants SET orders_url = coalesce($3, orders_url), sealed_orders_secret = $4, changed_at = clock_timestamp()
      WHERE domain = $1 AND account_id = $2`,
    [domain, accountId, ordersUrl ?? null, sealed],
  );
  return rowCount !== 0;
}

/** The secret format of Standard Webhooks. */
export function newOrdersSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}
