import type { Queryable } from '../../kernel/db/database.ts';
import { type Link, type LinkRow, linkColumns, linkTables, toLink } from './link.ts';
import { type LinkStatus, statusOf } from './states.ts';

export interface LinkQuery {
  readonly accountId: bigint;
  readonly status?: LinkStatus | undefined;
  readonly limit: number;
  readonly cursor: string | undefined;
}

/** Newest first, and one more than the page holds. */
export async function listLinks(db: Queryable, { accountId, status, limit, cursor }: LinkQuery): Promise<Link[]> {
  const { rows } = await db.query<LinkRow>(
    `SELECT ${linkColumns} FROM ${linkTables}
      WHERE l.account_id = $1 AND ($2::text IS NULL OR l.id < $2) AND ($3::text IS NULL OR ${statusOf} = $3)
      ORDER BY l.id DESC LIMIT $4`,
    [accountId, cursor ?? null, status ?? null, limit + 1],
  );
  return rows.map(toLink);
}
