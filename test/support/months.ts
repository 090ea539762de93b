import type { Database } from '../../src/kernel/db/database.ts';

/** Ends the current month of the ledger now, with everything so far in it, and opens another for what follows. */
export async function endMonth(db: Database, next: string): Promise<void> {
  await db.transaction(async (tx) => {
    const { rows } = await tx.query<{ name: string }>(
      'SELECT name FROM ledger.months WHERE from_at <= clock_timestamp() AND to_at > clock_timestamp()',
    );
    const current = rows[0]?.name ?? '';
    for (const table of ['postings', 'entry_rows'])
      await tx.query(`ALTER TABLE ledger.${table} DETACH PARTITION ledger.${table}_${current}`);
    await tx.query(
      `WITH ending AS (SELECT name, to_at FROM ledger.months WHERE name = $1),
            ended AS (UPDATE ledger.months m
                         SET to_at = greatest(clock_timestamp(), (SELECT max(posted_at) FROM ledger.accounts))
                       WHERE m.name = $1 RETURNING to_at)
       INSERT INTO ledger.months SELECT $2, ended.to_at, ending.to_at FROM ended, ending`,
      [current, next],
    );
    for (const table of ['postings', 'entry_rows']) {
      await tx.query(`CREATE TABLE ledger.${table}_${next} (LIKE ledger.${table} INCLUDING ALL)`);
      await tx.query('SELECT ledger.guard_rows($1)', [`${table}_${next}`]);
    }
    await tx.query('SELECT ledger.attach_month(m) FROM ledger.months m WHERE name = ANY ($1)', [[current, next]]);
  });
}
