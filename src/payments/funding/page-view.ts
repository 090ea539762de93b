import type { Hex } from 'viem';
import type { Queryable } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import { type Link, type LinkRow, linkColumns, linkTables, toLink } from './link.ts';
import { hashesOfToken } from './tokens.ts';

/** What anyone with the link's token may see: no balance, no email, no key. */
export interface FundingPageView extends Omit<Link, 'accountId'> {
  /** Null when the account has no wallet on that chain. */
  readonly address: Hex | null;
  /** The payment that will complete this link, before it is credited. The account's other payments are not shown. */
  readonly arriving: readonly ArrivingView[];
}

interface ArrivingView {
  readonly txHash: Hex;
  readonly amount: Amount;
  readonly confirmations: number;
}

/** A closed account has no pages, because its owner could not reach a payment made there. */
const select = `SELECT ${linkColumns}, w.address,
    (SELECT coalesce(jsonb_agg(x), '[]') FROM jsonb_array_elements(l.arriving) x WHERE x ->> 'txHash' = l.seen_tx) AS arriving
  FROM ${linkTables} LEFT JOIN wallets w ON w.account_id = l.account_id AND w.chain = l.chain AND w.retired_at IS NULL`;

export async function findFundingPage(
  db: Queryable,
  secrets: Secrets,
  token: string,
): Promise<FundingPageView | undefined> {
  const hashes = hashesOfToken(secrets, token);
  if (hashes.length === 0) return undefined;
  const { rows } = await db.query<ViewRow>(`${select} WHERE l.token_hash = ANY ($1) AND a.closed_at IS NULL`, [hashes]);
  return rows[0] && toView(rows[0]);
}

/** One query for all open pages. */
export async function readFundingPages(
  db: Queryable,
  ids: readonly string[],
): Promise<ReadonlyMap<string, FundingPageView>> {
  const { rows } = await db.query<ViewRow>(`${select} WHERE l.id = ANY ($1) AND a.closed_at IS NULL`, [ids]);
  return new Map(rows.map((row) => [row.id, toView(row)]));
}

interface ViewRow extends LinkRow {
  readonly address: Hex | null;
  readonly arriving: readonly { readonly txHash: Hex; readonly atomic: string; readonly confirmations: number }[];
}

function toView(row: ViewRow): FundingPageView {
  const { accountId: _, ...link } = toLink(row);
  return {
    ...link,
    address: row.address,
    arriving: row.arriving.map(({ txHash, atomic, confirmations }) => ({
      txHash,
      amount: amountOf(row.asset, BigInt(atomic)),
      confirmations,
    })),
  };
}
