import type { Hex } from 'viem';
import { matchArrival, noteArrival } from '../chain-steps/match-arrival.ts';
import type { ChainId } from '../chains/chains.ts';
import type { Network } from '../chains/network.ts';
import type { Queryable, Transaction } from '../db/database.ts';
import type { Asset } from '../money/asset.ts';
import { type CreditParts, creditWithin, type Deposit, toDeposit } from './credit-deposits.ts';
import type { LocatedTransfer } from './read-transfers.ts';

/**
 * What came to house wallets from outside. Each is matched with the step that expects it and posted to the account that the
 * step names; what cannot be decided yet waits in a table of its own, and only the rest is surplus. Reading the same
 * blocks again changes nothing.
 */
export async function receiveAtHouse(
  parts: CreditParts,
  chain: ChainId,
  transfers: readonly LocatedTransfer[],
): Promise<void> {
  for (const transfer of transfers) {
    await parts.db.transaction(async (tx) => {
      const { rows } = await tx.query<{ seen_at: Date }>(
        `INSERT INTO undecided_arrivals AS known (chain, tx_hash, position, block_number, address, sender, asset, atomic, proofs)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (chain, tx_hash, position) DO UPDATE SET block_number = excluded.block_number
         RETURNING seen_at`,
        [
          chain,
          transfer.txHash,
          transfer.position,
          transfer.blockNumber,
          transfer.recipient,
          transfer.sender,
          transfer.asset,
          transfer.atomic,
          transfer.proofs,
        ],
      );
      // Only now: whoever reads the same at the same time was waited for, and may have decided.
      if (await isDecided(tx, chain, transfer)) {
        await forget(tx, chain, transfer);
        await creditWithin(tx, parts, chain, [toDeposit(chain, { ...transfer, accountId: null })]);
      } else {
        await decide(tx, parts, chain, transfer, rows[0]?.seen_at ?? new Date());
      }
    });
  }
}

/** Looks again at what could not be decided before. Whatever a reorganisation has taken away is forgotten. */
export async function decideArrivals(parts: CreditParts, network: Network): Promise<void> {
  const { db, logger } = parts;
  const { id: chain } = network;
  const { rows } = await db.query<UndecidedRow>(
    `SELECT u.tx_hash, u.position, u.block_number, u.address, u.sender, u.asset, u.atomic, u.proofs, u.seen_at
       FROM undecided_arrivals u JOIN chain_cursors c ON c.chain = u.chain AND u.block_number <= c.block_number
      WHERE u.chain = $1 ORDER BY u.seen_at LIMIT 500`,
    [chain],
  );
  for (const row of rows) {
    if (!(await isStillThere(network, row))) {
      logger.error({ chain, txHash: row.tx_hash }, 'tokens that came to a house wallet are not on the chain any more');
      await forget(db, chain, toArrival(row));
      continue;
    }
    await db.transaction(async (tx) => {
      const held = await tx.query(
        'SELECT FROM undecided_arrivals WHERE chain = $1 AND tx_hash = $2 AND position = $3 FOR UPDATE',
        [chain, row.tx_hash, row.position],
      );
      if (held.rows.length > 0) await decide(tx, parts, chain, toArrival(row), row.seen_at);
    });
  }
}

type UndecidedTransfer = Omit<LocatedTransfer, 'blockHash' | 'logIndex' | 'log'>;

/** One commit: the row, its posting, and that the step has got it. */
async function decide(
  tx: Transaction,
  parts: CreditParts,
  chain: ChainId,
  transfer: UndecidedTransfer,
  seenAt: Date,
): Promise<void> {
  const { txHash, recipient: address, asset, atomic, proofs } = transfer;
  const match = await matchArrival(tx, { chain, txHash, address, asset, atomic, proofs, seenAt });
  if (match.is === 'undecided') return;
  await forget(tx, chain, transfer);
  if (match.is === 'expected') await noteArrival(tx, match.stepId, asset);
  const deposit: Deposit = toDeposit(chain, {
    ...transfer,
    accountId: null,
    ...(match.is === 'expected' && { expected: match }),
  });
  await creditWithin(tx, parts, chain, [deposit]);
}

async function forget(db: Queryable, chain: ChainId, { txHash, position }: UndecidedTransfer): Promise<void> {
  await db.query('DELETE FROM undecided_arrivals WHERE chain = $1 AND tx_hash = $2 AND position = $3', [
    chain,
    txHash,
    position,
  ]);
}

async function isDecided(tx: Transaction, chain: ChainId, { txHash, position }: LocatedTransfer): Promise<boolean> {
  const { rows } = await tx.query('SELECT FROM deposits WHERE chain = $1 AND tx_hash = $2 AND position = $3', [
    chain,
    txHash,
    position,
  ]);
  return rows.length > 0;
}

interface UndecidedRow {
  readonly tx_hash: Hex;
  readonly position: number;
  readonly block_number: bigint;
  readonly address: Hex;
  readonly sender: Hex;
  readonly asset: Asset;
  readonly atomic: string;
  readonly proofs: string[];
  readonly seen_at: Date;
}

function toArrival(row: UndecidedRow): UndecidedTransfer {
  return {
    txHash: row.tx_hash,
    position: row.position,
    blockNumber: row.block_number,
    recipient: row.address,
    sender: row.sender,
    asset: row.asset,
    atomic: BigInt(row.atomic),
    proofs: row.proofs,
  };
}

/** A node that lags behind its sisters knows no receipt either. Only its block tells what is gone; without it, this throws. */
async function isStillThere({ client }: Network, { tx_hash: hash, block_number }: UndecidedRow): Promise<boolean> {
  const { transactions } = await client.getBlock({ blockNumber: block_number });
  if (!transactions.includes(hash)) return false;
  return (await client.getTransactionReceipt({ hash })).status === 'success';
}
