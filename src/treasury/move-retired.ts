import { randomUUID } from 'node:crypto';
import type { Hex } from 'viem';
import { z } from 'zod';
import { tokenAbi } from '../chains/abi.ts';
import { type ChainId, chains } from '../chains/chains.ts';
import type { Network, Networks } from '../chains/network.ts';
import type { Database } from '../db/database.ts';
import { newId } from '../ids.ts';
import { defineJob, handleJob } from '../jobs/define-job.ts';
import type { Schedule } from '../jobs/worker.ts';
import { gasSpent } from '../ledger/gas-posting.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Logger } from '../logger.ts';
import { findHouseWalletById, type HouseWallet, houseWallet, listHouseWallets } from '../wallets/house-wallets.ts';
import { ProviderError, type WalletProvider } from '../wallets/provider.ts';

export interface MoveParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly logger: Logger;
}

const moveRetired = defineJob({ name: 'move_retired', payload: z.unknown(), maxAttempts: 1 });

/** After a rotation of the seed, what the old house wallets hold goes to the new ones: tokens first, then native coin. */
export function moveRetiredSchedule(parts: MoveParts): Schedule {
  return { at: '* * * * *', handler: handleJob(moveRetired, () => moveRetiredFunds(parts)) };
}

export async function moveRetiredFunds(parts: MoveParts): Promise<void> {
  for (const move of await openMoves(parts.db)) await tryTo(parts, move.chain, () => advanceMove(parts, move));
  const wallets = (await listHouseWallets(parts.db)).filter(({ retired }) => retired);
  for (const wallet of wallets) await tryTo(parts, wallet.chain, () => beginMoves(parts, wallet));
  for (const move of await openMoves(parts.db)) await tryTo(parts, move.chain, () => advanceMove(parts, move));
}

async function tryTo({ logger }: MoveParts, chain: ChainId, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (err) {
    // One wallet's trouble, or one chain's, is no reason to leave the others.
    logger.warn({ chain, err }, 'moving what a retired wallet holds waits');
  }
}

interface Move {
  readonly id: string;
  readonly chain: ChainId;
  readonly from_wallet: string;
  readonly to_wallet: string;
  readonly token: Hex | null;
  readonly atomic: string;
  readonly idempotency_key: string;
  readonly provider_ref: string | null;
}

async function openMoves(db: Database): Promise<Move[]> {
  const { rows } = await db.query<Move>(
    `SELECT id, chain, from_wallet, to_wallet, token, atomic, idempotency_key, provider_ref FROM house_moves
      WHERE finished_at IS NULL ORDER BY id`,
  );
  return rows;
}

/** Writes down what is to be moved, before anybody is asked. A wallet that still pays for something is left alone. */
async function beginMoves({ db, networks }: MoveParts, wallet: HouseWallet): Promise<void> {
  const network = networks.get(wallet.chain);
  if (network === undefined || (await isBusy(db, wallet))) return;
  const to = await houseWallet(db, wallet.purpose, wallet.chain);
  const begin = (token: Hex | null, atomic: bigint) =>
    db.query(
      `INSERT INTO house_moves (id, chain, from_wallet, to_wallet, token, atomic, idempotency_key)
       VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
      [newId('mov'), wallet.chain, wallet.id, to.id, token, atomic, randomUUID()],
    );
  let holdsTokens = false;
  for (const { address: token } of network.tokens) {
    const atomic = await network.client.readContract({
      address: token,
      abi: tokenAbi,
      functionName: 'balanceOf',
      args: [wallet.address],
    });
    if (atomic === 0n) continue;
    holdsTokens = true;
    await begin(token, atomic);
  }
  if (holdsTokens) return;
  const spare = await spareNative(network, wallet);
  if (spare > 0n) await begin(null, spare);
}

async function isBusy(db: Database, { id }: HouseWallet): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM withdrawals WHERE house_wallet_id = $1 AND finished_at IS NULL
      UNION ALL SELECT FROM house_moves WHERE from_wallet = $1 AND finished_at IS NULL
      UNION ALL SELECT FROM sweeps WHERE gas_wallet_id = $1 AND finished_at IS NULL LIMIT 1`,
    [id],
  );
  return rows.length > 0;
}

/** What is left when the transfer itself and another one are paid. Less than that is not worth moving. */
async function spareNative({ client }: Network, { address }: HouseWallet): Promise<bigint> {
  const [balance, gasPrice] = await Promise.all([client.getBalance({ address }), client.getGasPrice()]);
  const keep = 21_000n * gasPrice * 8n;
  return balance > 2n * keep ? balance - keep : 0n;
}

async function advanceMove(parts: MoveParts, move: Move): Promise<void> {
  const { db, ledger, provider } = parts;
  const { id, chain } = move;
  const ref = move.provider_ref ?? (await askOrGiveUp(parts, move));
  if (move.provider_ref === null) await db.query('UPDATE house_moves SET provider_ref = $2 WHERE id = $1', [id, ref]);
  const report = await provider.lookUp(chain, ref);
  if (report.state === 'pending') return;
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      'UPDATE house_moves SET finished_at = now(), tx_hash = $2 WHERE id = $1 AND finished_at IS NULL',
      [id, report.hash ?? null],
    );
    if (rowCount === 0 || report.hash === undefined) return;
    const gas = gasSpent({ chain, native: chains[chain].native, hash: report.hash, cost: report.gasCost });
    if (gas.length > 0) await ledger.postWithin(tx, gas);
  });
}

/** What is refused for good was never sent: the next look begins anew, with what the wallet holds then. */
async function askOrGiveUp(parts: MoveParts, move: Move): Promise<string> {
  try {
    return await ask(parts, move);
  } catch (error) {
    if (error instanceof ProviderError && !error.retryable && error.code !== 'idempotency_mismatch') {
      await parts.db.query('UPDATE house_moves SET finished_at = now() WHERE id = $1', [move.id]);
    }
    throw error;
  }
}

async function ask({ db, provider }: MoveParts, move: Move): Promise<string> {
  const [from, to] = await Promise.all([
    findHouseWalletById(db, move.from_wallet),
    findHouseWalletById(db, move.to_wallet),
  ]);
  if (from === undefined || to === undefined) throw new Error(`move ${move.id} names a wallet that is not there`);
  const call = { idempotencyKey: move.idempotency_key, from };
  const atomic = BigInt(move.atomic);
  if (move.token === null) return provider.execute({ ...call, contract: to.address, data: '0x', value: atomic });
  return provider.sendToken({ ...call, token: move.token, to: to.address, atomic });
}
