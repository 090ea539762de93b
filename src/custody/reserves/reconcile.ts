import { type Network, type Networks, reviewed } from '../../chains/network.ts';
import { type Database, longStatements } from '../../kernel/db/database.ts';
import type { Saga } from '../../kernel/sagas/define-saga.ts';
import { listOpenSagas } from '../../kernel/sagas/list-sagas.ts';
import { verifyLedger } from '../../ledger/verify.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { BlockIsGone, requireBlock } from './read-balances.ts';
import { type Position, readPosition } from './read-position.ts';
import { amountText, reconcileBooks } from './reconcile-books.ts';
import { reconcileDeposits } from './reconcile-deposits.ts';
import { reconcileNative, reconcileSteps } from './reconcile-steps.ts';
import {
  readUnwrapped,
  readWallets,
  reconcileUnwrapped,
  reconcileWallets,
  type Unwrapped,
  type Wallets,
} from './reconcile-wallets.ts';

export interface ReconcileParts {
  readonly db: Database;
  readonly networks: Networks;
  readonly sagas: readonly Saga[];
  /** Pretends that this much time has passed, to find everything that would eventually take too long. */
  readonly laterMs?: number;
  /** How many confirmed blocks may be unread. */
  readonly lagBlocks?: number;
}

/** Compares everything we hold with everything we owe: one sentence per discrepancy. */
export async function reconcile(parts: ReconcileParts): Promise<string[]> {
  const { db, networks } = parts;
  const { position, wallets, unwrapped } = await db.atOneMoment(async (tx) => {
    const coin = new Map<ChainId, readonly Unwrapped[]>();
    for (const network of networks.values()) coin.set(network.id, await readUnwrapped(tx, network));
    return { position: await readPosition(tx), wallets: await readWallets(tx), unwrapped: coin };
  });
  const findings = [
    ...(await verifyLedger(db)).problems,
    ...(await db.transaction((tx) => reconcileBooks(tx, parts.sagas), longStatements)),
    ...(await findStuck(parts)),
  ];
  for (const network of networks.values()) {
    const books = { position, wallets, unwrapped: unwrapped.get(network.id) ?? [] };
    findings.push(...(await reconcileChain(parts, reviewed(network), books)));
  }
  for (const { chain, asset, owed, inTransit } of position.books) {
    const network = networks.get(chain);
    if (network?.tokens.some((token) => token.asset === asset) || (owed === 0n && inTransit === 0n)) continue;
    findings.push(`${chain}: ${amountText(asset, owed)} is owed, but that token cannot be asked for there.`);
  }
  return findings;
}

/** The database at one moment. */
interface Books {
  readonly position: Position;
  readonly wallets: Wallets;
  readonly unwrapped: readonly Unwrapped[];
}

async function reconcileChain(
  parts: ReconcileParts,
  network: Network,
  { position, wallets, unwrapped }: Books,
): Promise<string[]> {
  const cursor = position.cursors.get(network.id);
  if (cursor === undefined) return [`${network.id}: the chain was never read.`];
  try {
    await requireBlock(network, cursor);
    return [
      ...(await findLag(parts, network, cursor.blockNumber)),
      ...(await reconcileWallets(network, position, cursor, wallets)),
      ...(await reconcileDeposits(parts.db, network)),
      ...(await reconcileSteps(parts.db, network)),
      ...(await reconcileNative(parts.db, network)),
      ...(await reconcileUnwrapped(network, cursor, unwrapped)),
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

/** Sagas that are in one state for longer than it may take. States that wait for the operator have no limit. */
async function findStuck({ db, sagas, laterMs }: ReconcileParts): Promise<string[]> {
  const stuck = (await listOpenSagas(db, sagas, { laterMs })).filter((one) => one.stuck);
  return stuck.map(
    ({ saga, id, about, status, since, waitsFor }) =>
      `${saga} ${id} (${about}) is ${status} since ${since.toISOString()}: ${waitsFor}.`,
  );
}
