import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Posted } from '../../ledger/posting.ts';
import type { Website } from '../search/website.ts';
import { merchantErrors } from './errors.ts';
import { type FetchProof, proofFor } from './fetch-proof.ts';
import { findMerchant, findOwnMerchant, type OwnMerchant } from './find-merchant.ts';
import { openDomainClaimant, redeemDomain } from './redeem-domain.ts';

/** A domain that showed an account's token. The caller's transaction then assigns it. */
export interface Proved {
  readonly domain: string;
  /** Null if the domain already belonged to the account, so that no proof was needed. */
  readonly token: string | null;
}

/** Fetches the proof, outside any transaction. Throws unless the account owns the domain or the domain proves it. */
export async function checkDomain(
  { db, lookForProof }: { readonly db: Queryable; readonly lookForProof: FetchProof },
  { accountId, handle }: Pick<Caller, 'accountId' | 'handle'>,
  website: Website,
): Promise<Proved> {
  const domain = website.name;
  const own = await findOwnMerchant(db, accountId, domain);
  const token = own.status === 'unproved' ? (own.token ?? '') : null;
  if (token !== null) {
    await refuseTaken(db, { domain, accountId });
    const proof = proofFor(website, { handle, token });
    const found = await lookForProof(proof);
    if (found !== undefined) {
      const detail = `${found} The file at ${proof.url} must contain the line “${proof.content}”.`;
      throw merchantErrors.domain_not_proved(detail, { members: { found } });
    }
  }
  await openDomainClaimant(db, domain);
  return { domain, token };
}

/** Saves a request to the site; the commit checks again. */
async function refuseTaken(
  db: Queryable,
  { domain, accountId }: { readonly domain: string; readonly accountId: bigint },
): Promise<void> {
  const owner = (await findMerchant(db, domain))?.accountId ?? null;
  // A concurrent request of the same account may have proved it just now.
  if (owner !== null && owner !== accountId) throw merchantErrors.domain_taken();
}

/** Assigns the domain to the account and pays out what it is owed, in the caller's commit. */
export async function proveDomain(
  tx: Transaction,
  ledger: Ledger,
  { accountId, domain, token }: { readonly accountId: bigint } & Proved,
): Promise<{ readonly merchant: OwnMerchant; readonly redeemed: readonly Posted[] }> {
  if (token !== null) await takeDomain(tx, { accountId, domain, token });
  else await holdOwnDomain(tx, { accountId, domain });
  const merchant = await findOwnMerchant(tx, accountId, domain);
  return { merchant, redeemed: await redeemDomain(tx, ledger, { domain, accountId }) };
}

/** Of two concurrent proofs, the second waits for the row lock and then finds the domain taken. */
async function takeDomain(
  tx: Transaction,
  { accountId, domain, token }: { accountId: bigint; domain: string; token: string },
): Promise<void> {
  const { rows: claims } = await tx.query<{ ordersUrl: string | null; sealedOrdersSecret: Buffer | null }>(
    'SELECT orders_url, sealed_orders_secret FROM merchant_claims WHERE domain = $1 AND account_id = $2 AND token = $3',
    [domain, accountId, token],
  );
  const [claim] = claims;
  if (claim === undefined) throw merchantErrors.merchant_not_found();
  const { rowCount } = await tx.query(
    `INSERT INTO merchants (domain, account_id, state, enabled_by, orders_url, sealed_orders_secret, proved_at)
       VALUES ($1, $2, 'enabled', 'domain_proof', $3, $4, clock_timestamp())
     ON CONFLICT (domain) DO UPDATE SET
       account_id = $2,
       -- A domain that the operator has disabled stays disabled, no matter who proves it.
       state = CASE WHEN merchants.disabled_by = 'operator' THEN 'disabled' ELSE 'enabled' END,
       disabled_by = CASE WHEN merchants.disabled_by = 'operator' THEN 'operator' END,
       enabled_by = CASE WHEN merchants.disabled_by = 'owner' THEN 'domain_proof' ELSE merchants.enabled_by END,
       orders_url = coalesce($3, merchants.orders_url),
       sealed_orders_secret = coalesce($4, merchants.sealed_orders_secret),
       proved_at = clock_timestamp(), changed_at = clock_timestamp()
     WHERE merchants.account_id IS NULL OR merchants.account_id = $2`,
    [domain, accountId, claim.ordersUrl, claim.sealedOrdersSecret],
  );
  if (rowCount === 0) throw merchantErrors.domain_taken();
  await tx.query(
    'UPDATE merchant_claims SET orders_url = NULL, sealed_orders_secret = NULL WHERE domain = $1 AND account_id = $2',
    [domain, accountId],
  );
}

async function holdOwnDomain(
  tx: Transaction,
  { accountId, domain }: { accountId: bigint; domain: string },
): Promise<void> {
  const { rowCount } = await tx.query('SELECT FROM merchants WHERE domain = $1 AND account_id = $2 FOR UPDATE', [
    domain,
    accountId,
  ]);
  if (rowCount === 0) throw merchantErrors.merchant_not_found();
}
