import type { Database } from '../kernel/db/database.ts';
import { parseUrl } from '../kernel/text/parse-url.ts';
import type { Counterparty } from './consent.ts';
import { hasPaid, theService } from './known-accounts.ts';
import type { FactName, Facts } from './rules.ts';

export interface FactParts {
  readonly db: Database;
  readonly publicUrl: () => string;
}

/** Looks up what rules want to know about a counterparty. */
export interface FactBook {
  /** What is known without asking. */
  recall(counterparty: Counterparty | undefined): Facts;
  ask(name: FactName, accountId: bigint, counterparty: Counterparty): Promise<Facts>;
}

const mostRemembered = 100_000;

export function createFactBook({ db, publicUrl }: FactParts): FactBook {
  const handles = new Map<bigint, Facts>();

  async function askHandle(counterparty: Counterparty): Promise<Facts> {
    if (counterparty.kind !== 'account') return { handle: '' };
    const { accountId } = counterparty;
    const { rows } = await db.query<{ handle: string }>('SELECT handle FROM accounts WHERE id = $1', [accountId]);
    const facts = { handle: rows[0]?.handle ?? '' };
    if (handles.size >= mostRemembered) handles.clear();
    handles.set(accountId, facts);
    return facts;
  }

  async function askContact(counterparty: Counterparty): Promise<Facts> {
    if (counterparty.kind !== 'account') return { contact: { email: null, phone: null } };
    const { rows } = await db.query<{ email: string | null; phone: string | null }>(
      'SELECT CASE WHEN email_verified_at IS NOT NULL THEN email END AS email, phone FROM accounts WHERE id = $1',
      [counterparty.accountId],
    );
    return { contact: rows[0] ?? { email: null, phone: null } };
  }

  /** The tables of shops, withdrawals and purchases belong to rooms above this one, which read and write them. */
  async function isKnown(accountId: bigint, counterparty: Counterparty): Promise<boolean> {
    switch (counterparty.kind) {
      case 'account':
        return hasPaid(db, accountId, counterparty.accountId);
      case 'address':
        return exists(
          "SELECT FROM withdrawals WHERE account_id = $1 AND lower(address) = $2 AND status = 'complete' LIMIT 1",
          [accountId, counterparty.address.toLowerCase()],
        );
      case 'shop':
        return exists(
          `SELECT FROM orders o WHERE o.account_id = $1 AND o.domain = $2 AND o.status = 'completed'
              AND o.charged > (SELECT coalesce(sum(r.atomic), 0) FROM order_refunds r WHERE r.order_id = o.id) LIMIT 1`,
          [accountId, counterparty.domain],
        );
      case 'endpoint':
        return isKnownHost(accountId, counterparty.host);
    }
  }

  async function isKnownHost(accountId: bigint, host: string): Promise<boolean> {
    if (parseUrl(publicUrl())?.host === host) return hasPaid(db, accountId, theService);
    return exists("SELECT FROM purchases WHERE account_id = $1 AND host = $2 AND status = 'paid' LIMIT 1", [
      accountId,
      host,
    ]);
  }

  async function isVerified(accountId: bigint, counterparty: Counterparty): Promise<boolean> {
    switch (counterparty.kind) {
      case 'account':
        return exists('SELECT FROM accounts WHERE id = $1 AND (email_verified_at IS NOT NULL OR phone IS NOT NULL)', [
          counterparty.accountId,
        ]);
      case 'address':
        return exists(
          'SELECT FROM withdrawal_addresses WHERE account_id = $1 AND address = $2 AND usable_from <= clock_timestamp()',
          [accountId, counterparty.address.toLowerCase()],
        );
      case 'shop':
        return exists('SELECT FROM merchants WHERE domain = $1 AND account_id IS NOT NULL AND proved_at IS NOT NULL', [
          counterparty.domain,
        ]);
      case 'endpoint':
        return false;
    }
  }

  async function exists(text: string, values: readonly unknown[]): Promise<boolean> {
    return (await db.query(text, values)).rowCount !== 0;
  }

  const none: Facts = {};
  return {
    recall: (counterparty) => (counterparty?.kind === 'account' ? (handles.get(counterparty.accountId) ?? none) : none),
    async ask(name, accountId, counterparty) {
      switch (name) {
        case 'handle':
          return askHandle(counterparty);
        case 'contact':
          return askContact(counterparty);
        case 'known':
          return { known: await isKnown(accountId, counterparty) };
        case 'verified':
          return { verified: await isVerified(accountId, counterparty) };
      }
    },
  };
}
