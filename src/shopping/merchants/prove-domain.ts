import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Posted } from '../../ledger/posting.ts';
import type { Website } from '../search/website.ts';
import { merchantErrors } from './errors.ts';
import { findMerchant } from './find-merchant.ts';
import type { LookForProof } from './look-for-proof.ts';
import { findOwnMerchant, type OwnMerchant } from './own-merchant.ts';
import { proofFor } from './proof.ts';
import { openDomainClaimant, redeemDomain } from './redeem-domain.ts';

interface Prover {
  readonly accountId: bigint;
  readonly handle: string;
}

/** A domain that showed the token of an account. What is done with it is done in a transaction afterwards. */
export interface Proved {
  readonly domain: string;
  /** Null where the domain was the account's already, and nobody had to look. */
  readonly token: string | null;
}

/** Looks at the site, outside of any transaction, and throws unless the domain is the account's or shows that it is. */
export async function lookAtDomain(
  { db, lookForProof }: { readonly db: Queryable; readonly lookForProof: LookForProof },
  { accountId, handle }: Prover,
  website: Website,
): Promise<Proved> {
  const domain = website.name;
  const own = await findOwnMerchant(db, accountId, domain);
  if (own.status === 'unproved') {
    await refuseTaken(db, { domain, accountId });
    const token = own.token ?? '';
    const proof = proofFor(website, { handle, token });
    const found = await lookForProof(proof);
    if (found !== undefined) {
      throw merchantErrors.domain_not_proved(
        `${found} The file at ${proof.url} must contain the line “${proof.content}”.`,
        {
          members: { found },
        },
      );
    }
    await openDomainClaimant(db, domain);
    return { domain, token };
  }
  await openDomainClaimant(db, domain);
  return { domain, token: null };
}

/** Before the site is asked; the commit has the last word. */
async function refuseTaken(
  db: Queryable,
  { domain, accountId }: { readonly domain: string; readonly accountId: bigint },
): Promise<void> {
  const owner = (await findMerchant(db, domain))?.accountId ?? null;
  // The same account may have proved it a moment ago, by a request beside this one.
  if (owner !== null && owner !== accountId) throw merchantErrors.domain_taken();
}

/** The domain becomes the account's, and what it is owed with it: one commit, which is the caller's. */
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

/** Of two who have proved it at once the second waits here, and finds it taken. */
async function takeDomain(
  tx: Transaction,
  { accountId, domain, token }: { accountId: bigint; domain: string; token: string },
): Promise<void> {
  const { rows: claims } = await tx.query<{ orders_url: string | null; sealed_orders_secret: Buffer | null }>(
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
       -- What the operator has closed stays closed, whoever proves it.
       state = CASE WHEN merchants.disabled_by = 'operator' THEN 'disabled' ELSE 'enabled' END,
       disabled_by = CASE WHEN merchants.disabled_by = 'operator' THEN 'operator' END,
       enabled_by = CASE WHEN merchants.disabled_by = 'owner' THEN 'domain_proof' ELSE merchants.enabled_by END,
       orders_url = coalesce($3, merchants.orders_url),
       sealed_orders_secret = coalesce($4, merchants.sealed_orders_secret),
       proved_at = clock_timestamp(), changed_at = clock_timestamp()
     WHERE merchants.account_id IS NULL OR merchants.account_id = $2`,
    [domain, accountId, claim.orders_url, claim.sealed_orders_secret],
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
