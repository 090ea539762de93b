import { z } from 'zod';
import { type Network, tokenBalance } from '../../chains/network.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { defineJob, enqueue, handleJob } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { isWalletBusy, type SagaParts } from '../steps/chain-step.ts';
import { type HouseWallet, houseWallet, listHouseWallets } from '../wallets/house-wallets.ts';
import { beginHouseMove, type NewHouseMove } from './house-move.ts';

export type MoveParts = Pick<SagaParts, 'db' | 'networks' | 'logger' | 'checkpoint'>;

const moveRetired = defineJob({ name: 'move_retired', payload: z.unknown(), maxAttempts: 1 });

/** After a seed rotation, moves what the old house wallets hold to the new ones: tokens first, then native coin. */
export function moveRetiredSchedule(parts: MoveParts): Schedule {
  return { at: '* * * * *', handler: handleJob(moveRetired, () => beginMoves(parts)) };
}

/** At start-up, so that the job runs at once instead of at the next full minute; start-up itself waits for no chain. */
export async function beginMovesSoon(db: Queryable): Promise<void> {
  await enqueue(db, moveRetired, {}, { key: moveRetired.name });
}

/**
 * Starts the moves of every retired house wallet. Chains run in parallel, so a silent one does not delay the others.
 */
export async function beginMoves(parts: MoveParts): Promise<void> {
  const retired = (await listHouseWallets(parts.db)).filter((wallet) => wallet.retired);
  const chains = new Set(retired.map(({ chain }) => chain));
  await Promise.all(
    Array.from(chains, async (chain) => {
      for (const wallet of retired) if (wallet.chain === chain) await beginOrWait(parts, wallet);
    }),
  );
}

/** One wallet's failure must not stop the others. */
async function beginOrWait(parts: MoveParts, wallet: HouseWallet): Promise<void> {
  try {
    await beginMovesOf(parts, wallet);
  } catch (err) {
    parts.logger.warn(
      { chain: wallet.chain, err },
      'moving the balance of a retired wallet failed; it will be retried',
    );
  }
}

/** A wallet with a step in progress is left alone. */
async function beginMovesOf(parts: MoveParts, wallet: HouseWallet): Promise<void> {
  const network = parts.networks.get(wallet.chain);
  if (network === undefined || (await isWalletBusy(parts.db, wallet.id))) return;
  let holdsTokens = false;
  for (const token of network.tokens) {
    const atomic = await tokenBalance(network, token, wallet.address);
    if (atomic === 0n) continue;
    holdsTokens = true;
    await begin(parts, wallet, { token, atomic });
  }
  if (holdsTokens) return;
  const spare = await spareNative(network, wallet);
  if (spare > 0n) await begin(parts, wallet, { token: null, atomic: spare });
}

async function begin(
  { db, checkpoint = noCheckpoint }: MoveParts,
  wallet: HouseWallet,
  what: Pick<NewHouseMove, 'token' | 'atomic'>,
): Promise<void> {
  const to = await houseWallet(db, wallet.purpose, wallet.chain);
  await db.transaction((tx) => beginHouseMove(tx, { from: wallet, to, ...what }));
  checkpoint('house_move.begun');
}

/** Keeps enough for the transfer and another one. Less than twice that is not worth moving. */
async function spareNative({ client }: Network, { address }: HouseWallet): Promise<bigint> {
  const [balance, gasPrice] = await Promise.all([client.getBalance({ address }), client.getGasPrice()]);
  const keep = 21_000n * gasPrice * 8n;
  return balance > 2n * keep ? balance - keep : 0n;
}
