import type { Database, Queryable } from '../kernel/db/database.ts';
import { userAccount } from '../ledger/account-id.ts';
import { currencies } from '../money/catalogue.ts';

/** Stands for the service, whose own endpoints are paid from balances. */
export const theService = 0n;

/** One reading of the ledger. A long history takes several. */
const postingsRead = 10_000;

/**
 * Whether an account has paid another by a transfer or an invoice. The ledger finds postings by their payer and not by their
 * recipient, so the recipients are kept in a table. Only the postings since the last question are read.
 */
export async function hasPaid(db: Database, accountId: bigint, paidId: bigint): Promise<boolean> {
  if (await isListed(db, accountId, paidId)) return true;
  for (const currency of currencies) {
    const ledgerAccount = userAccount(accountId, currency);
    while (await readOn(db, accountId, ledgerAccount)) if (await isListed(db, accountId, paidId)) return true;
  }
  return isListed(db, accountId, paidId);
}

async function isListed(db: Queryable, accountId: bigint, paidId: bigint): Promise<boolean> {
  const { rowCount } = await db.query('SELECT FROM paid_accounts WHERE account_id = $1 AND paid_id = $2', [
    accountId,
    paidId,
  ]);
  return rowCount === 1;
}

/** Reads one part and tells whether there may be more. A part that two requests read at once is listed once. */
async function readOn(db: Queryable, accountId: bigint, ledgerAccount: number): Promise<boolean> {
  const { rows } = await db.query<{ count: number }>(
    `WITH part AS MATERIALIZED (
       SELECT e.posted_at, e.posting_id, e.amount FROM ledger.account_entries e
        WHERE e.account_id = $2
          AND e.posted_at > coalesce((SELECT read_to FROM paid_cursors WHERE ledger_account = $2), '-infinity')
        ORDER BY e.posted_at LIMIT ${postingsRead}),
     paid AS (
       SELECT DISTINCT CASE p.type WHEN 'nano' THEN ${theService} ELSE p.recipient_id END AS paid_id
         FROM part JOIN ledger.postings p ON p.id = part.posting_id AND p.posted_at = part.posted_at
        WHERE part.amount < 0 AND (p.type = 'nano' OR p.type = 'transfer' AND p.sender_id = $1)),
     listed AS (
       INSERT INTO paid_accounts (account_id, paid_id) SELECT $1, paid_id FROM paid WHERE paid_id IS NOT NULL
       ON CONFLICT DO NOTHING),
     moved AS (
       INSERT INTO paid_cursors (ledger_account, account_id, read_to)
       SELECT $2, $1, max(posted_at) FROM part HAVING max(posted_at) IS NOT NULL
       ON CONFLICT (ledger_account) DO UPDATE SET read_to = greatest(paid_cursors.read_to, excluded.read_to))
     SELECT count(*)::integer AS count FROM part`,
    [accountId, ledgerAccount],
  );
  return rows[0]?.count === postingsRead;
}
