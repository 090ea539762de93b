import { type Database, longStatements, onlyRow } from '../kernel/db/database.ts';

export interface Verification {
  readonly accounts: bigint;
  readonly postings: bigint;
  readonly entries: bigint;
  /** Whole sentences; none when the ledger is sound. */
  readonly problems: readonly string[];
}

/**
 * Reads the whole ledger and proves what the posting function promises: every balance equals the sum of its entries and
 * the balance that the last one recorded, each recorded balance follows from the one before, and every posting
 * balances. An account whose first months are archived starts from its archived balance. One statement, so that it sees a single moment while postings go on.
 */
export async function verifyLedger(db: Database): Promise<Verification> {
  const result = await db.transaction((tx) => tx.query<Verification & { problems: string[] }>(sql), longStatements);
  return onlyRow(result);
}

const sql = `
WITH chained AS (
  SELECT e.account_id, e.posting_id, e.amount, e.balance_after, e.posted_at,
         coalesce(lag(e.balance_after) OVER along, z.balance, 0) AS balance_before,
         coalesce(lag(e.posted_at) OVER along, z.posted_at) AS posted_before
    FROM ledger.entries e LEFT JOIN ledger.archived_balances z ON z.account_id = e.account_id
  WINDOW along AS (PARTITION BY e.account_id ORDER BY e.posted_at)
), summed AS (
  SELECT coalesce(e.account_id, z.account_id) AS account_id, coalesce(e.total, 0) + coalesce(z.balance, 0) AS total,
         coalesce(e.last_balance, z.balance) AS last_balance, coalesce(e.last_at, z.posted_at) AS last_at
    FROM ledger.archived_balances z
    FULL JOIN (
      SELECT account_id, sum(amount) AS total, (array_agg(balance_after ORDER BY posted_at DESC))[1] AS last_balance,
             max(posted_at) AS last_at
        FROM ledger.entries GROUP BY account_id) e ON e.account_id = z.account_id
), moved AS (
  SELECT t.budget, t.bucket, sum(t.amount) AS taken, sum(t.given) AS given
    FROM (SELECT s.spent_on, u.budget, u.bucket, u.amount,
                 coalesce((SELECT sum(r.amounts[u.n]) FROM ledger.spending_returns r WHERE r.spent_on = s.spent_on), 0) AS given
            FROM ledger.spendings s
           CROSS JOIN LATERAL unnest(s.budgets, s.buckets, s.amounts) WITH ORDINALITY u (budget, bucket, amount, n)) t
   GROUP BY t.budget, t.bucket
), kept AS (
  SELECT b.id AS budget, u.no AS bucket, u.sum FROM ledger.budget_windows b CROSS JOIN LATERAL unnest(b.nos, b.sums) u (no, sum)
), problems AS (
  SELECT format('Account %s has %s, but its entries sum to %s.', coalesce(a.id, s.account_id), a.balance, s.total) AS text
    FROM ledger.accounts a FULL JOIN summed s ON s.account_id = a.id
   WHERE a.id IS NULL OR a.balance <> coalesce(s.total, 0)
  UNION ALL
  SELECT format('Account %s has %s, but its last entry recorded %s.', a.id, a.balance, s.last_balance)
    FROM ledger.accounts a JOIN summed s ON s.account_id = a.id
   WHERE a.balance <> s.last_balance OR a.posted_at < s.last_at
  UNION ALL
  SELECT format('Posting %s changed account %s by %s, from %s to %s.', posting_id, account_id, amount, balance_before,
                balance_after)
    FROM chained WHERE balance_before + amount <> balance_after
  UNION ALL
  SELECT format('Account %s has two entries at %s.', account_id, posted_at) FROM chained WHERE posted_at <= posted_before
  UNION ALL
  SELECT format('Account %s is below zero with %s.', account_id, balance_after)
    FROM chained WHERE balance_after < 0 AND ledger.kind_of(account_id) < 32
  UNION ALL
  SELECT format('Posting %s sums to %s in asset %s on chain %s.', posting_id, sum(amount),
                ledger.asset_of(account_id & 255), ledger.chain_of(account_id & 255))
    FROM ledger.entries GROUP BY posting_id, account_id & 255 HAVING sum(amount) <> 0
  UNION ALL
  SELECT format('Posting %s and its entries do not match.', coalesce(p.id, e.posting_id))
    FROM ledger.postings p
    FULL JOIN (SELECT DISTINCT posting_id, posted_at FROM ledger.entries) e
      ON e.posting_id = p.id AND e.posted_at = p.posted_at
   WHERE p.id IS NULL OR e.posting_id IS NULL
  UNION ALL
  SELECT format('The id %s belongs to %s postings.', id, count(*)) FROM ledger.postings GROUP BY id HAVING count(*) > 1
  UNION ALL
  SELECT format('All accounts in asset %s on chain %s together have %s.', ledger.asset_of(id & 255),
                ledger.chain_of(id & 255), sum(balance))
    FROM ledger.accounts GROUP BY id & 255 HAVING sum(balance) <> 0
  UNION ALL
  SELECT format('Idempotency key %s belongs to no posting.', k.digest)
    FROM ledger.idempotency_keys k LEFT JOIN ledger.postings p ON p.id = k.posting_id
   WHERE k.posting_id IS NOT NULL AND p.id IS NULL AND k.posted_at >= (SELECT ledger.archived_until())
  UNION ALL
  SELECT format('Reference %s and its posting do not match.', coalesce(r.reference, p.reference))
    FROM ledger.posting_references r
    FULL JOIN (SELECT id, posted_at, reference FROM ledger.postings WHERE reference IS NOT NULL) p
      ON p.id = r.posting_id AND p.reference = r.reference AND p.posted_at = r.posted_at
   WHERE r.reference IS NULL OR (p.id IS NULL AND (r.posted_at >= (SELECT ledger.archived_until())) IS NOT FALSE)
  UNION ALL
  SELECT format('All archived balances in asset %s on chain %s together are %s.', ledger.asset_of(account_id & 255),
                ledger.chain_of(account_id & 255), sum(balance))
    FROM ledger.archived_balances GROUP BY account_id & 255 HAVING sum(balance) <> 0
  UNION ALL
  SELECT format('Budget %s has %s spent in bucket %s, but payments took %s and gave back %s.', m.budget, coalesce(k.sum, 0),
                m.bucket, m.taken, m.given)
    FROM moved m JOIN ledger.budget_windows b ON b.id = m.budget LEFT JOIN kept k ON k.budget = m.budget AND k.bucket = m.bucket
   WHERE m.taken - m.given <> coalesce(k.sum, 0)
     -- What has passed is kept no more.
     AND (k.sum IS NULL AND m.bucket < b.nos[cardinality(b.nos)] - CASE WHEN b.span = 'rolling' THEN 60 ELSE 0 END) IS NOT TRUE
  UNION ALL
  SELECT format('Budget %s has %s spent in bucket %s, which no payment took.', k.budget, k.sum, k.bucket)
    FROM kept k LEFT JOIN moved m ON m.budget = k.budget AND m.bucket = k.bucket WHERE m.budget IS NULL
  UNION ALL
  SELECT format('Budget %s has %s spent, but its buckets sum to %s.', b.id, b.spent, coalesce(k.sum, 0))
    FROM ledger.budget_windows b LEFT JOIN (SELECT budget, sum(sum) AS sum FROM kept GROUP BY budget) k ON k.budget = b.id
   WHERE b.spent <> coalesce(k.sum, 0)
  UNION ALL
  SELECT format('Budget %s allows %s, but its count allows %s.', b.id, b.most, coalesce(c.most::text, 'nothing'))
    FROM ledger.budgets b LEFT JOIN ledger.budget_counts c ON c.budget = b.id WHERE c.most IS DISTINCT FROM b.most
  UNION ALL
  SELECT format('Budget %s keeps what was spent in bucket %s until %s.', b.id, c.bucket, c.bucket_until)
    FROM ledger.budgets b JOIN ledger.budget_counts c ON c.budget = b.id
   WHERE c.bucket_until > ledger.bucket_until(b.span, b.time_zone, b.seconds, c.bucket)
  UNION ALL
  SELECT format('More of %s was given back than was spent.', s.spent_on)
    FROM ledger.spendings s
   CROSS JOIN LATERAL unnest(s.amounts) WITH ORDINALITY u (amount, n)
   CROSS JOIN LATERAL (SELECT sum(r.amounts[u.n]) AS given FROM ledger.spending_returns r WHERE r.spent_on = s.spent_on) g
   WHERE g.given > u.amount
  UNION ALL
  SELECT format('Posting %s took from a budget, but it does not exist.', s.posting_id)
    FROM (SELECT posting_id, posted_at FROM ledger.spendings UNION ALL SELECT posting_id, posted_at FROM ledger.spending_returns) s
    LEFT JOIN ledger.postings p ON p.id = s.posting_id AND p.posted_at = s.posted_at
   WHERE p.id IS NULL AND s.posted_at >= (SELECT ledger.archived_until())
)
SELECT (SELECT count(*) FROM ledger.accounts) AS accounts,
       (SELECT count(*) FROM ledger.postings) AS postings,
       (SELECT count(*) FROM ledger.entries) AS entries,
       ARRAY(SELECT text FROM problems LIMIT 100) AS problems`;
