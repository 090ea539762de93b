import { getAddress, type Hex } from 'viem';
import type { Network, Networks } from '../../chains/network.ts';
import { findCursor } from '../../custody/watch/chain-cursor.ts';
import { readTransfers } from '../../custody/watch/read-transfers.ts';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import { type Loop, startLoop } from '../../kernel/jobs/loop.ts';
import type { Wakes } from '../../kernel/jobs/wakes.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { listOpenLinks } from './link.ts';
import { matchArrivals, type OpenLink, type Payment } from './match-arrivals.ts';

export interface UnconfirmedParts {
  readonly db: Database;
  readonly networks: Networks;
  readonly wakes: Wakes;
}

/** No page waits for payments older than this; a watcher that is further behind is catching up. */
const mostBlocks = 1_000n;

/** The watcher reads final blocks only, so this loop shows earlier ones, and only while a link is open. */
export function startWatchingUnconfirmed(parts: UnconfirmedParts, logger: Logger): Loop[] {
  return [...parts.networks.values()].map((network) =>
    startLoop({
      logger,
      fields: { chain: network.id },
      trouble: 'payments to funding links cannot be shown before they are final',
      rest: { wakes: parts.wakes, topic: `funding_links/${network.id}` },
      paceMs: network.pollMs,
      async run() {
        const links = await listOpenLinks(parts.db, network.id);
        if (links.length > 0 && (await takeTurn(parts.db, network))) await updateUnconfirmed(parts.db, network, links);
        return links.length > 0 ? network.pollMs : 'rest';
      },
    }),
  );
}

async function takeTurn(db: Queryable, { id, pollMs }: Network): Promise<boolean> {
  const { rowCount } = await db.query(
    `INSERT INTO funding_looks AS l (chain, next_at) VALUES ($1, clock_timestamp() + make_interval(secs => $2::float8 / 1000))
     ON CONFLICT (chain) DO UPDATE SET next_at = excluded.next_at WHERE l.next_at <= clock_timestamp()`,
    // Slightly less than the polling interval, so that a process does not just miss its own next turn.
    [id, pollMs * 0.8],
  );
  return rowCount === 1;
}

/** A payment on the chain that the watcher has not reached yet. */
interface Arriving extends Payment {
  readonly confirmations: number;
  readonly final: boolean;
}

/** Replaces what each link shows as arriving, so that payments undone by a reorg disappear. */
export async function updateUnconfirmed(db: Queryable, network: Network, links: readonly OpenLink[]): Promise<void> {
  const arriving = await readArriving(db, network, links);
  const matched = matchArrivals(links, arriving);
  for (const link of links) await writeDown(db, link.id, matched.get(link));
}

async function readArriving(db: Queryable, network: Network, links: readonly OpenLink[]): Promise<Arriving[]> {
  const owners = await ownersOf(db, network.id, [...new Set(links.map(({ accountId }) => accountId))]);
  const cursor = await findCursor(db, network.id);
  const head = await network.client.getBlockNumber({ cacheTime: 0 });
  const held = await readHeld(db, network.id, { accountIds: [...new Set(owners.values())], head });
  if (cursor === undefined || head <= cursor.number) return held;
  const from = head - cursor.number > mostBlocks ? head - mostBlocks : cursor.number;
  const book = {
    addresses: [...owners.keys()],
    find: (address: string) => (owners.has(address.toLowerCase() as Hex) ? { accountId: null } : undefined),
    refresh: async () => {},
  };
  const transfers = await readTransfers(network, { from: from + 1n, to: head }, book);
  const credited = await creditedAmong(db, network.id, [...new Set(transfers.map(({ txHash }) => txHash))]);
  const arriving = transfers.flatMap(({ recipient, asset, atomic, txHash, blockNumber }) => {
    const accountId = owners.get(recipient.toLowerCase() as Hex);
    if (accountId === undefined || credited.has(txHash)) return [];
    const confirmations = Number(head - blockNumber) + 1;
    return [{ accountId, asset, atomic, txHash, confirmations, final: confirmations >= network.confirmations }];
  });
  const isHeld = ({ txHash }: Arriving) => held.some((other) => other.txHash === txHash);
  return [...held, ...arriving.filter((payment) => !isHeld(payment))];
}

/** A held deposit is final but not credited yet. */
async function readHeld(
  db: Queryable,
  chain: ChainId,
  { accountIds, head }: { readonly accountIds: readonly bigint[]; readonly head: bigint },
): Promise<Arriving[]> {
  const { rows } = await db.query<Payment & { readonly blockNumber: bigint }>(
    `SELECT account_id, asset, atomic, tx_hash, block_number FROM held_deposits
      WHERE chain = $1 AND account_id = ANY ($2) AND rejected_at IS NULL ORDER BY id`,
    [chain, accountIds],
  );
  return rows.map(({ blockNumber, ...payment }) => ({
    ...payment,
    confirmations: Math.max(1, Number(head - blockNumber) + 1),
    final: true,
  }));
}

/** The cursor moves after the credit, so a payment that completed one link could still be shown at the next. */
async function creditedAmong(db: Queryable, chain: ChainId, hashes: readonly Hex[]): Promise<ReadonlySet<Hex>> {
  if (hashes.length === 0) return new Set();
  const { rows } = await db.query<{ txHash: Hex }>(
    'SELECT tx_hash FROM deposits WHERE chain = $1 AND tx_hash = ANY ($2) AND account_id IS NOT NULL',
    [chain, hashes],
  );
  return new Set(rows.map(({ txHash }) => txHash));
}

/** By lower-case address. Includes retired wallets, because their owner still gets what arrives there. */
async function ownersOf(db: Queryable, chain: ChainId, accountIds: readonly bigint[]): Promise<Map<Hex, bigint>> {
  const { rows } = await db.query<{ accountId: bigint; address: string }>(
    'SELECT account_id, address FROM wallets WHERE account_id = ANY ($1) AND chain = $2',
    [accountIds, chain],
  );
  return new Map(rows.map(({ accountId, address }) => [getAddress(address).toLowerCase() as Hex, accountId]));
}

/** Writes only changes, and never over a link that was completed meanwhile. */
async function writeDown(db: Queryable, linkId: string, own: Arriving | undefined): Promise<void> {
  const picture =
    own === undefined ? [] : [{ txHash: own.txHash, atomic: String(own.atomic), confirmations: own.confirmations }];
  await db.query(
    `UPDATE funding_links SET arriving = $2, seen_tx = $3, seen_final = $4
      WHERE id = $1 AND completed_at IS NULL AND (arriving, seen_tx, seen_final) IS DISTINCT FROM ($2::jsonb, $3, $4)`,
    [linkId, JSON.stringify(picture), own?.txHash ?? null, own?.final ?? false],
  );
}
