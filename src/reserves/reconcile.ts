import type { Network, Networks } from '../chains/network.ts';
import { type Database, longStatements } from '../db/database.ts';
import { verifyLedger } from '../ledger/verify.ts';
import type { Asset } from '../money/asset.ts';
import { BlockIsGone, requireBlock } from './ask-chain.ts';
import { atOneMoment, type Position, readPosition } from './read-position.ts';
import { amountText, reconcileBooks } from './reconcile-books.ts';
import { reconcileDeposits } from './reconcile-deposits.ts';
import { readWallets, reconcileWallets, type Wallets } from './reconcile-wallets.ts';
import { reconcileWithdrawals } from './reconcile-withdrawals.ts';

export interface ReconcileParts {
  readonly db: Database;
  readonly networks: Networks;
  /** What takes longer is stuck. Authorizations of a sweep may have to run out first, so a sweep has longer. */
  readonly withdrawalMs?: number;
  readonly sweepMs?: number;
  /** How far a chain may be ahead of what was read of it. */
  readonly lagBlocks?: number;
}

const hour = 60 * 60_000;

/** Looks at everything we hold and owe, and names whatever does not agree: one sentence for each, none when all is well. */
export async function reconcile(parts: ReconcileParts): Promise<string[]> {
  const { db, networks } = parts;
  const { position, wallets } = await atOneMoment(db, async (tx) => ({
    position: await readPosition(tx),
    wallets: await readWallets(tx),
  }));
  const findings = [
    ...(await verifyLedger(db)).problems,
    ...(await db.transaction(reconcileBooks, longStatements)),
    ...(await findStuck(parts)),
  ];
  for (const network of networks.values()) findings.push(...(await reconcileChain(parts, network, position, wallets)));
  for (const { chain, asset, owed, inTransit } of position.books) {
    const network = networks.get(chain);
    if (network?.tokens.some((token) => token.asset === asset) || (owed === 0n && inTransit === 0n)) continue;
    findings.push(`${chain}: ${amountText(asset, owed)} is owed, but that token cannot be asked for there.`);
  }
  return findings;
}

async function reconcileChain(
  parts: ReconcileParts,
  network: Network,
  position: Position,
  wallets: Wallets,
): Promise<string[]> {
  const cursor = position.cursors.get(network.id);
  if (cursor === undefined) return [`${network.id}: the chain was never read.`];
  try {
    await requireBlock(network, cursor);
    return [
      ...(await findLag(parts, network, cursor.blockNumber)),
      ...(await reconcileWallets(network, position, cursor, wallets)),
      ...(await reconcileDeposits(parts.db, network)),
      ...(await reconcileWithdrawals(parts.db, network)),
    ];
  } catch (error) {
    if (error instanceof BlockIsGone) return [`${network.id}: ${error.message}.`];
    const reason =
      error instanceof Error ? ((error as { shortMessage?: string }).shortMessage ?? error.message) : error;
    return [`${network.id}: the chain could not be asked: ${reason}`];
  }
}

async function findLag({ lagBlocks = 500 }: ReconcileParts, network: Network, read: bigint): Promise<string[]> {
  const head = await network.client.getBlockNumber({ cacheTime: 0 });
  const behind = Number(head - read) - network.confirmations + 1;
  return behind > lagBlocks ? [`${network.id}: ${behind} confirmed blocks after block ${read} were not read yet.`] : [];
}

interface StuckRow {
  readonly id: string;
  readonly chain: string;
  readonly asset: Asset;
  readonly atomic: string;
  readonly status: string;
  readonly created_at: Date;
}

/** Withdrawals that are held wait for a person, who sees them in `paywright withdrawals list`. */
async function findStuck({ db, withdrawalMs = hour, sweepMs = 3 * hour }: ReconcileParts): Promise<string[]> {
  const since = 'now() - make_interval(secs => $1::float8 / 1000)';
  const withdrawals = await db.query<StuckRow>(
    `SELECT id, chain, asset, net AS atomic, status, created_at FROM withdrawals
      WHERE finished_at IS NULL AND status <> 'held' AND created_at < ${since} ORDER BY id`,
    [withdrawalMs],
  );
  const sweeps = await db.query<StuckRow>(
    `SELECT s.id, s.chain, s.asset, sum(i.atomic) AS atomic, s.status, s.created_at
       FROM sweeps s JOIN sweep_items i ON i.sweep_id = s.id
      WHERE s.finished_at IS NULL AND s.created_at < ${since} GROUP BY s.id ORDER BY s.id`,
    [sweepMs],
  );
  const describe = (what: string) => (row: StuckRow) =>
    `${row.chain}: ${what} ${row.id} of ${amountText(row.asset, row.atomic)} is ${row.status} since ${row.created_at.toISOString()}.`;
  return [...withdrawals.rows.map(describe('withdrawal')), ...sweeps.rows.map(describe('sweep'))];
}
