import { type Database, onlyRow } from '../../kernel/db/database.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { findClaimant } from '../../ledger/claimants.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { openDomainClaimant, redeemDomain } from './redeem-domain.ts';
import { newOrdersSecret } from './register-domain.ts';

export interface Enabling {
  readonly domain: string;
  /** The account to be paid for its orders. Undefined keeps the current owner. */
  readonly accountId: bigint | undefined;
  readonly ordersUrl: string | undefined;
}

/**
 * The operator enables a domain and can assign it to an account. The same commit pays out what the domain is owed. A secret is
 * created if orders go to a URL and there was none; the operator passes it on to the shop.
 */
export async function enableMerchant(
  { db, ledger, secrets }: { readonly db: Database; readonly ledger: Ledger; readonly secrets: Secrets },
  { domain, accountId, ordersUrl }: Enabling,
) {
  if (accountId !== undefined) await openDomainClaimant(db, domain);
  return db.transaction(async (tx) => {
    // Creates the row so that the row lock below serializes this with a concurrent proof.
    await tx.query(
      "INSERT INTO merchants (domain, state, enabled_by) VALUES ($1, 'enabled', 'operator') ON CONFLICT DO NOTHING",
      [domain],
    );
    const before = onlyRow(
      await tx.query<{ accountId: bigint | null; ordersUrl: string | null; sealedOrdersSecret: Buffer | null }>(
        'SELECT account_id, orders_url, sealed_orders_secret FROM merchants WHERE domain = $1 FOR UPDATE',
        [domain],
      ),
    );
    const owner = accountId ?? before.accountId;
    if (owner === null && (await findClaimant(tx, { kind: 'domain', name: domain }))?.accountId) {
      throw new Refusal(`The former owner gave up ${domain}. Name the new owner with --account.`);
    }
    // A new owner must not receive the former owner's orders or share its secret.
    const isMoved = before.accountId !== null && before.accountId !== owner;
    const sendTo = ordersUrl ?? (isMoved ? null : before.ordersUrl);
    const kept = isMoved ? null : before.sealedOrdersSecret;
    const ordersSecret = sendTo !== null && kept === null ? newOrdersSecret() : undefined;
    await tx.query(
      `UPDATE merchants SET account_id = $2, state = 'enabled', enabled_by = 'operator', disabled_by = NULL, orders_url = $3,
              sealed_orders_secret = $4, proved_at = CASE WHEN $5 THEN NULL ELSE proved_at END,
              changed_at = clock_timestamp() WHERE domain = $1`,
      [
        domain,
        owner,
        sendTo,
        ordersSecret === undefined ? kept : secrets.seal('merchant-orders', ordersSecret),
        isMoved,
      ],
    );
    const earner = before.accountId ?? owner;
    const redeemed = earner === null ? [] : await redeemDomain(tx, ledger, { domain, accountId: earner });
    return { redeemed, ordersSecret };
  });
}

/** The domain takes no orders from this commit on, whatever its site says. Its account and what it is owed stay unchanged. */
export async function disableMerchant(db: Database, domain: string): Promise<void> {
  await db.query(
    `INSERT INTO merchants (domain, state, disabled_by) VALUES ($1, 'disabled', 'operator')
     ON CONFLICT (domain) DO UPDATE SET state = 'disabled', disabled_by = 'operator', changed_at = clock_timestamp()`,
    [domain],
  );
}
