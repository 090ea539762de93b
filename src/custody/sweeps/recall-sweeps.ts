import { getAddress, type Hex, parseAbiItem } from 'viem';
import { findReceipt } from '../../chains/find-receipt.ts';
import type { Network } from '../../chains/network.ts';
import type { Database, Queryable, Transaction } from '../../kernel/db/database.ts';
import type { SagaParts } from '../steps/chain-step.ts';
import { authorizationProof, proofsOf } from '../steps/receipt-proofs.ts';
import { listHouseWallets } from '../wallets/house-wallets.ts';
import type { DepositToken } from '../wallets/kept-chains.ts';
import { findCursor } from '../watch/chain-cursor.ts';
import { chooseExactly } from './choose-exactly.ts';

const transferEvent = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)');

/** Blocks that one request may ask about; nodes refuse more. */
const blocksAtOnce = 1_000n;

/**
 * After a restore from a backup, wallets that were swept since then have deposits that count as unswept, and can never pay them.
 * Reads from the chain what these wallets sent to the house, and marks the matching deposits as swept. Returns the wallets for
 * which something was found: they can be chosen again at once.
 */
export async function recallSweeps(
  parts: SagaParts,
  network: Network,
  token: DepositToken,
  wallets: readonly Hex[],
): Promise<ReadonlySet<Hex>> {
  const { db, logger } = parts;
  const recalled = new Set<Hex>();
  if (wallets.length === 0) return recalled;
  for (const sent of await findForgotten(db, network, token, wallets)) {
    const isMarked = await db.transaction((tx) => markSwept(tx, network, token, sent));
    const fields = { chain: network.id, asset: token.asset, address: sent.address, txHash: sent.txHash };
    if (isMarked) recalled.add(sent.address);
    if (isMarked) logger.warn(fields, 'a wallet was swept by a transaction that is not in this database');
    else logger.error(fields, 'a wallet sent an amount to the house that matches none of its deposits');
  }
  return recalled;
}

interface Sent {
  readonly address: Hex;
  readonly atomic: bigint;
  readonly txHash: Hex;
  readonly position: number;
  readonly blockNumber: bigint;
}

/** Transfers of the wallets to the house since their oldest unswept deposit, up to the last block read, in chain order. */
async function findForgotten(
  db: Database,
  network: Network,
  token: DepositToken,
  wallets: readonly Hex[],
): Promise<readonly Sent[]> {
  const { id: chain, client } = network;
  const cursor = await findCursor(db, chain);
  const since = await oldestUnswept(db, network, token, wallets);
  if (cursor === undefined || since === undefined) return [];
  const house = (await listHouseWallets(db)).map(({ address }) => address);
  const found: Sent[] = [];
  for (let first = since; first <= cursor.number; first += blocksAtOnce) {
    const last = first + blocksAtOnce - 1n;
    const logs = await client.getLogs({
      address: token.address,
      event: transferEvent,
      args: { from: [...wallets], to: house },
      fromBlock: first,
      toBlock: last < cursor.number ? last : cursor.number,
    });
    for (const { transactionHash: txHash, logIndex, args } of logs) {
      const receipt = await findReceipt(client, txHash);
      const position = receipt?.logs.findIndex((log) => log.logIndex === logIndex) ?? -1;
      if (receipt === undefined || position < 0 || args.from === undefined || args.value === undefined) continue;
      const address = getAddress(args.from);
      if (args.value === 0n || (await isKnown(db, network, { address, txHash, position }))) continue;
      if (await isOfOpenSweep(db, token, { address, proofs: proofsOf(receipt.logs, position) })) continue;
      found.push({ address, atomic: args.value, txHash, position, blockNumber: receipt.blockNumber });
    }
  }
  return found;
}

async function oldestUnswept(
  db: Queryable,
  { id: chain }: Network,
  { asset }: DepositToken,
  wallets: readonly Hex[],
): Promise<bigint | undefined> {
  const { rows } = await db.query<{ oldest: bigint | null }>(
    `SELECT min(block_number) AS oldest FROM deposits
      WHERE chain = $1 AND asset = $2 AND address = ANY ($3) AND swept_at IS NULL AND account_id IS NOT NULL`,
    [chain, asset, wallets],
  );
  return rows[0]?.oldest ?? undefined;
}

/** It was recalled before, or it belongs to a sweep in this database. */
async function isKnown(
  db: Queryable,
  { id: chain }: Network,
  { txHash, position }: Pick<Sent, 'address' | 'txHash' | 'position'>,
): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM forgotten_sweeps WHERE chain = $1 AND tx_hash = $2 AND position = $3
     UNION ALL
     SELECT FROM chain_steps WHERE chain = $1 AND saga = 'coin_sweep' AND (hash = $2 OR $2 = ANY (hashes))
     UNION ALL
     SELECT FROM key_transaction_attempts WHERE hash = $2
       AND transaction_id IN (SELECT id FROM chain_steps WHERE saga = 'coin_sweep')
     LIMIT 1`,
    [chain, txHash, position],
  );
  return rows.length > 0;
}

/** No matter who submitted it: a wallet's authorization is known by its nonce. */
async function isOfOpenSweep(
  db: Queryable,
  token: DepositToken,
  { address, proofs }: { readonly address: Hex; readonly proofs: readonly string[] },
): Promise<boolean> {
  const { rows } = await db.query<{ nonce: Hex }>('SELECT nonce FROM sweep_items WHERE address = $1', [address]);
  return rows.some(({ nonce }) => proofs.includes(authorizationProof(token.address, address, nonce)));
}

/** Records the transfer and marks its deposits as swept, in one commit. False if no deposits add up to its amount. */
async function markSwept(
  tx: Transaction,
  { id: chain }: Network,
  { asset }: DepositToken,
  { address, atomic, txHash, position, blockNumber }: Sent,
): Promise<boolean> {
  const { rows } = await tx.query<{ id: string; atomic: bigint }>(
    `SELECT id, atomic FROM deposits
      WHERE chain = $1 AND asset = $2 AND address = $3 AND block_number <= $4 AND swept_at IS NULL AND sweep_id IS NULL
        AND account_id IS NOT NULL
      ORDER BY block_number, position FOR UPDATE`,
    [chain, asset, address, blockNumber],
  );
  const swept = chooseExactly(rows, atomic);
  if (swept === undefined) return false;
  const { rowCount } = await tx.query(
    `INSERT INTO forgotten_sweeps (chain, tx_hash, position, block_number, asset, address, atomic)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
    [chain, txHash, position, blockNumber, asset, address, atomic],
  );
  // Another process has marked them already.
  if (rowCount === 0) return true;
  await tx.query('UPDATE deposits SET swept_at = now() WHERE id = ANY ($1)', [swept.map(({ id }) => id)]);
  return true;
}
