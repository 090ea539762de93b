import { setTimeout as sleep } from 'node:timers/promises';
import type { Hex } from 'viem';
import type { Queryable } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import { hashesOfToken, type Link, type LinkRow, linkColumns, linkTables, toLink } from './link.ts';
import type { OnRamp, Purchase } from './on-ramp.ts';

export interface LinkFollower {
  /** Yields the current view and then each change, until the signal aborts. */
  follow(linkId: string, signal: AbortSignal): AsyncGenerator<FundingPageView>;
}

interface FollowerOptions {
  readonly db: Queryable;
  readonly everyMs?: number;
}

/** One query serves all open pages; without open pages there is none. */
export function createLinkFollower({ db, everyMs = 500 }: FollowerOptions): LinkFollower {
  const listening = new Map<string, number>();
  let round: Promise<ReadonlyMap<string, FundingPageView>> | undefined;

  /** Pages opened meanwhile share the pending round. */
  function nextRound(): Promise<ReadonlyMap<string, FundingPageView>> {
    round ??= sleep(everyMs)
      .then(() => {
        round = undefined;
        return readFundingPages(db, [...listening.keys()]);
      })
      // A short database outage shows nothing new; pages keep the last view.
      .catch(() => new Map());
    return round;
  }

  return {
    async *follow(linkId, signal) {
      listening.set(linkId, (listening.get(linkId) ?? 0) + 1);
      let told: string | undefined;
      try {
        let view = (await readFundingPages(db, [linkId])).get(linkId);
        while (!signal.aborted) {
          const text = view && fingerprint(view);
          if (view !== undefined && text !== told) {
            told = text;
            yield view;
          }
          view = (await nextRound()).get(linkId);
        }
      } finally {
        const left = (listening.get(linkId) ?? 1) - 1;
        if (left === 0) listening.delete(linkId);
        else listening.set(linkId, left);
      }
    },
  };
}

function fingerprint(view: FundingPageView): string {
  return JSON.stringify(view, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

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
async function readFundingPages(db: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, FundingPageView>> {
  const { rows } = await db.query<ViewRow>(`${select} WHERE l.id = ANY ($1) AND a.closed_at IS NULL`, [ids]);
  return new Map(rows.map((row) => [row.id, toView(row)]));
}

type ViewRow = LinkRow & {
  readonly address: Hex | null;
  readonly arriving: readonly { readonly txHash: Hex; readonly atomic: string; readonly confirmations: number }[];
};

function toView(row: ViewRow): FundingPageView {
  const { accountId: _, ...link } = toLink(row);
  const arriving = row.arriving.map(({ atomic, ...one }) => ({ ...one, amount: amountOf(row.asset, BigInt(atomic)) }));
  return { ...link, address: row.address, arriving };
}

export function sellersFor(onRamps: readonly OnRamp[], { chain, amount }: FundingPageView): readonly OnRamp[] {
  return onRamps.filter((onRamp) => onRamp.sells(chain, amount.asset));
}

/** Returns the card company's URL. Each click starts a new session, because sessions are short-lived and single-use. */
export async function beginPurchase(
  onRamp: OnRamp,
  { id, amount, chain, address }: FundingPageView,
  { returnUrl, clientIp }: Pick<Purchase, 'returnUrl' | 'clientIp'>,
): Promise<string> {
  if (address === null) throw new Error(`the link ${id} has no address to send to`);
  return onRamp.begin({ reference: id, amount, chain, address, returnUrl, clientIp });
}
