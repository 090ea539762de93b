import type { Hex } from 'viem';
import type { ChainId } from '../chains/chains.ts';
import type { Queryable } from '../db/database.ts';
import { type Amount, amountOf } from '../money/amount.ts';
import type { Secrets } from '../secrets.ts';
import { type Link, type LinkRow, linkColumns, linkTables, toLink } from './link.ts';
import { hashesOfToken } from './tokens.ts';

/** What the page of a link shows to whoever has its token, and no more: neither balance nor email nor key. */
export interface FundingPageView extends Omit<Link, 'accountId'> {
  /** Where to pay. Null when there is no wallet on that chain. */
  readonly address: Hex | null;
  /** On the chain, and not credited yet. */
  readonly arriving: readonly ArrivingView[];
  /** Credited to the account in this currency since the link was made, and not by another link. */
  readonly arrived: readonly ArrivedView[];
}

interface ArrivingView {
  readonly txHash: Hex;
  readonly amount: Amount;
  readonly confirmations: number;
}

export interface ArrivedView {
  readonly amount: Amount;
  readonly chain: ChainId;
  /** It waits to be carried to the chain that people spend on. */
  readonly isHomeBound: boolean;
  readonly at: Date;
}

/** Later than this after its end a link tells nothing new. */
const lateMinutes = 60;
const mostArrived = 5;

const select = `SELECT ${linkColumns}, l.arriving, w.address,
    (SELECT coalesce(jsonb_agg(x), '[]') FROM (
       SELECT o.atomic::text, o.chain, o.home_bound, o.created_at FROM deposits o
        WHERE o.account_id = l.account_id AND o.asset = l.asset AND o.id IS DISTINCT FROM l.deposit_id
          AND o.created_at BETWEEN l.created_at AND l.expires_at + make_interval(mins => ${lateMinutes})
          AND (l.completed_at IS NULL OR o.created_at <= l.completed_at)
          AND NOT EXISTS (SELECT FROM funding_links f WHERE f.deposit_id = o.id)
        ORDER BY o.id DESC LIMIT ${mostArrived}) x) AS arrived
  FROM ${linkTables} LEFT JOIN wallets w ON w.account_id = l.account_id AND w.chain = l.chain AND w.retired_at IS NULL`;

export async function findFundingPage(
  db: Queryable,
  secrets: Secrets,
  token: string,
): Promise<FundingPageView | undefined> {
  const hashes = hashesOfToken(secrets, token);
  if (hashes.length === 0) return undefined;
  const { rows } = await db.query<ViewRow>(`${select} WHERE l.token_hash = ANY ($1)`, [hashes]);
  return rows[0] && toView(rows[0]);
}

/** The same for many at once, for whoever watches over open pages. */
export async function readFundingPages(
  db: Queryable,
  ids: readonly string[],
): Promise<ReadonlyMap<string, FundingPageView>> {
  const { rows } = await db.query<ViewRow>(`${select} WHERE l.id = ANY ($1)`, [ids]);
  return new Map(rows.map((row) => [row.id, toView(row)]));
}

interface ViewRow extends LinkRow {
  readonly address: Hex | null;
  readonly arriving: readonly { readonly txHash: Hex; readonly atomic: string; readonly confirmations: number }[];
  readonly arrived: readonly {
    readonly atomic: string;
    readonly chain: ChainId;
    readonly home_bound: boolean;
    readonly created_at: string;
  }[];
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
    arrived: row.arrived.map(({ atomic, chain, home_bound, created_at }) => ({
      amount: amountOf(row.asset, BigInt(atomic)),
      chain,
      isHomeBound: home_bound,
      at: new Date(created_at),
    })),
  };
}
