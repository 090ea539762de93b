import type { Hex } from 'viem';
import { z } from 'zod';
import { isWalletBusy } from '../chain-steps/look-at-steps.ts';
import { planStep } from '../chain-steps/plan-step.ts';
import { tokenAbi } from '../chains/abi.ts';
import type { Network, Networks } from '../chains/network.ts';
import { type Checkpoint, noCheckpoint } from '../checkpoint.ts';
import type { Database } from '../db/database.ts';
import { newId } from '../ids.ts';
import { defineJob, handleJob } from '../jobs/define-job.ts';
import type { Schedule } from '../jobs/worker.ts';
import type { Logger } from '../logger.ts';
import { amountOf } from '../money/amount.ts';
import type { Asset } from '../money/asset.ts';
import { wakeSaga } from '../sagas/wake-saga.ts';
import { type HouseWallet, houseWallet, listHouseWallets } from '../wallets/house-wallets.ts';
import { houseMoveSaga, moveStep } from './house-move.ts';

export interface MoveParts {
  readonly db: Database;
  readonly networks: Networks;
  readonly logger: Logger;
  readonly checkpoint?: Checkpoint | undefined;
}

const moveRetired = defineJob({ name: 'move_retired', payload: z.unknown(), maxAttempts: 1 });

/** After a rotation of the seed, what the old house wallets hold goes to the new ones: tokens first, then native coin. */
export function moveRetiredSchedule(parts: MoveParts): Schedule {
  return { at: '* * * * *', handler: handleJob(moveRetired, () => beginMoves(parts)) };
}

/** Looks into every retired house wallet. How what is begun here goes on is the saga's. */
export async function beginMoves(parts: MoveParts): Promise<void> {
  for (const wallet of await listHouseWallets(parts.db)) {
    if (!wallet.retired) continue;
    try {
      await beginMovesOf(parts, wallet);
    } catch (err) {
      // One wallet's trouble, or one chain's, is no reason to leave the others.
      parts.logger.warn({ chain: wallet.chain, err }, 'moving what a retired wallet holds waits');
    }
  }
}

/** A wallet that still has something under way is left alone. */
async function beginMovesOf(parts: MoveParts, wallet: HouseWallet): Promise<void> {
  const network = parts.networks.get(wallet.chain);
  if (network === undefined || (await isWalletBusy(parts.db, wallet.id))) return;
  let holdsTokens = false;
  for (const { address: token, asset } of network.tokens) {
    const atomic = await network.client.readContract({
      address: token,
      abi: tokenAbi,
      functionName: 'balanceOf',
      args: [wallet.address],
    });
    if (atomic === 0n) continue;
    holdsTokens = true;
    await begin(parts, wallet, { token, asset, atomic });
  }
  if (holdsTokens) return;
  const spare = await spareNative(network, wallet);
  if (spare > 0n) await begin(parts, wallet, { token: null, asset: null, atomic: spare });
}

/** Writes down what is to be moved, before anybody is asked. One at a time per wallet and coin. */
async function begin(
  { db, checkpoint = noCheckpoint }: MoveParts,
  wallet: HouseWallet,
  { token, asset, atomic }: { readonly token: Hex | null; readonly asset: Asset | null; readonly atomic: bigint },
): Promise<void> {
  const { chain } = wallet;
  const id = newId('mov');
  const to = await houseWallet(db, wallet.purpose, chain);
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `INSERT INTO house_moves (id, chain, from_wallet, to_wallet, token, atomic, status)
       VALUES ($1, $2, $3, $4, $5, $6, 'moving') ON CONFLICT DO NOTHING`,
      [id, chain, wallet.id, to.id, token, atomic],
    );
    if (rowCount === 0) return;
    // Native coin is no token: what becomes of it is not in the books.
    const leaves =
      asset === null ? [] : [{ amount: amountOf(asset, atomic), recipient: to.address, stays: true as const }];
    await planStep(tx, { saga: houseMoveSaga.name, ...moveStep(id), chain, wallet, leaves });
    await wakeSaga(tx, { saga: houseMoveSaga.name, id, lane: chain });
  });
  checkpoint('house_move.begun');
}

/** What is left when the transfer itself and another one are paid. Less than that is not worth moving. */
async function spareNative({ client }: Network, { address }: HouseWallet): Promise<bigint> {
  const [balance, gasPrice] = await Promise.all([client.getBalance({ address }), client.getGasPrice()]);
  const keep = 21_000n * gasPrice * 8n;
  return balance > 2n * keep ? balance - keep : 0n;
}
