import type { Transaction } from '../../kernel/db/database.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { merchantErrors } from './errors.ts';
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
export async function giveUpDomain(tx: Transaction, ledger: Ledger, { accountId, domain }: Owned): Promise<void> {
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
