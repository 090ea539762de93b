import type { Queryable } from '../../kernel/db/database.ts';
import { toPage } from '../../kernel/http/list-route.ts';

export interface LoggedEntry {
  readonly id: string;
  readonly action: string;
  readonly keyId: string | null;
  readonly operator: string | null;
  readonly address: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
}

const columns = `l.id, l.action, l.key_id, l.operator, l.address, l.details, l.created_at`;

export interface AccountLogQuery {
  readonly accountId: bigint;
  readonly action: string | undefined;
  readonly limit: number;
  readonly cursor: string | undefined;
}

export async function readAccountLog(
  db: Queryable,
  { accountId, action, limit, cursor }: AccountLogQuery,
): Promise<{ readonly items: readonly LoggedEntry[]; readonly nextCursor: string | null }> {
  const { rows } = await db.query<LoggedEntry>(
    `SELECT ${columns} FROM audit_log l
      WHERE l.account_id = $1 AND ($2::text IS NULL OR l.id < $2) AND ($3::text IS NULL OR l.action = $3)
      ORDER BY l.id DESC LIMIT $4`,
    [accountId, cursor ?? null, action ?? null, limit + 1],
  );
  return toPage(rows, limit, ({ id }) => id);
}

/** An entry as the operator sees it, with fields that owners do not see. */
export interface OperatorEntry extends LoggedEntry {
  readonly handle: string | null;
  readonly note: string | null;
}

export interface OperatorLogQuery {
  readonly accountId: bigint | undefined;
  readonly action: string | undefined;
  readonly since: Date | undefined;
}

const atOnce = 1_000;

/** All matching entries, newest first. */
export async function* walkLog(
  db: Queryable,
  { accountId, action, since }: OperatorLogQuery,
): AsyncIterable<OperatorEntry> {
  let before: string | null = null;
  for (;;) {
    const { rows }: { rows: OperatorEntry[] } = await db.query<OperatorEntry>(
      `SELECT ${columns}, l.note, a.handle FROM audit_log l LEFT JOIN accounts a ON a.id = l.account_id
        WHERE ($1::text IS NULL OR l.id < $1)
          AND ($2::bigint IS NULL OR l.account_id = $2)
          AND ($3::text IS NULL OR l.action = $3) AND ($4::timestamptz IS NULL OR l.created_at >= $4)
        ORDER BY l.id DESC LIMIT $5`,
      [before, accountId ?? null, action ?? null, since ?? null, atOnce],
    );
    yield* rows;
    if (rows.length < atOnce) return;
    before = rows.at(-1)?.id ?? null;
  }
}
