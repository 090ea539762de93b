import type { Hex } from 'viem';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { findHouseWalletById, type HouseWallet } from '../wallets/house-wallets.ts';
import { ProviderError, type WalletProvider } from '../wallets/provider.ts';
import { findUserWalletById, type UserWallet } from '../wallets/user-wallets.ts';
import { askProvider, type ProviderRequest, type Refused } from './ask-provider.ts';
import { type ChainStep, type ChainStepParts, findStep, type StepName } from './chain-step.ts';

/** How a step has ended. The saga settles the step and posts the consequences in one commit. */
export type StepEnd =
  | { readonly state: 'confirmed'; readonly hash: Hex; readonly blockNumber: bigint; readonly gasCost: bigint }
  /** Certain: nothing was moved, and nothing will be. */
  | {
      readonly state: 'failed';
      readonly reason: string;
      readonly hash?: Hex;
      readonly gasCost: bigint;
      /** Only when the provider refused it. */
      readonly refusal?: Pick<Refused, 'unansweredAt'>;
    };

export type StepProgress =
  | StepEnd
  | { readonly state: 'waiting'; readonly waitsFor: string; readonly lookAgainInMs: number };

/** The checkpoints of a step. The keys provider has two more between the first and the second. */
export function stepCheckpoints(saga: string, step: string): readonly string[] {
  return ['asked', 'taken', 'confirmed'].map((place) => `${saga}.${step}.${place}`);
}

const patienceMs = 2_000;

/**
 * Takes a step as far as it goes now: asks the provider under the step's key and follows the transaction. It is confirmed only when the
 * watcher has read its block, so that the books and the chain agree at every block. Any process may call this any number of times.
 * `beforeAsking` runs in the commit before each request. If it throws, the step stays as it was, unless the provider already has it.
 */
export async function takeStep(
  parts: ChainStepParts,
  which: StepName,
  request: (wallet: HouseWallet | UserWallet) => ProviderRequest | Promise<ProviderRequest>,
  beforeAsking?: (tx: Transaction) => Promise<void>,
): Promise<StepProgress> {
  const { db, networks, provider, checkpoint = noCheckpoint } = parts;
  const step = await findStep(db, which);
  if (step === undefined || step.state === 'waiting') throw new Error(`${which.sagaId} has no ${which.step} to take`);
  if (step.state === 'confirmed' || step.state === 'failed') return asItEnded(step);
  let ref = step.providerRef;
  if (ref === null) {
    const asked = await askProvider(parts, step, await request(await walletOf(db, step, provider)), beforeAsking);
    if (asked === undefined) return takeStep(parts, which, request, beforeAsking);
    if ('refused' in asked) return { state: 'failed', reason: asked.refused, gasCost: 0n, refusal: asked };
    ref = asked.ref;
  }
  const report = await provider.lookUp(step.chain, ref).catch(async (error: unknown) => {
    // The reserves follow this transaction even if the provider's report contradicts itself.
    if (error instanceof ProviderError) await noteHash(db, step, error.hash);
    throw error;
  });
  await noteHash(db, step, report.hash);
  if (report.state === 'failed') return report;
  const lookAgainInMs = networks.get(step.chain)?.pollMs ?? patienceMs;
  if (report.state === 'pending')
    return { state: 'waiting', waitsFor: report.waitsFor ?? 'its transaction is not final yet', lookAgainInMs };
  if (!(await wasRead(db, step, report.blockNumber))) {
    return { state: 'waiting', waitsFor: `block ${report.blockNumber} to be read`, lookAgainInMs };
  }
  checkpoint(`${step.saga}.${step.step}.confirmed`);
  return report;
}

function asItEnded({ id, state, hash, blockNumber, gasCost, reason }: ChainStep): StepEnd {
  if (state === 'failed') {
    return { state, reason: reason ?? 'It failed.', ...(hash !== null && { hash }), gasCost: gasCost ?? 0n };
  }
  if (hash === null) throw new Error(`step ${id} is confirmed by no transaction`);
  return { state: 'confirmed', hash, blockNumber: blockNumber ?? 0n, gasCost: gasCost ?? 0n };
}

/** Refuses a wallet of another provider, which cannot know whether the wallet's own provider has taken the step. */
async function walletOf(
  db: Queryable,
  { id, walletId, userWalletId }: ChainStep,
  provider: WalletProvider,
): Promise<HouseWallet | UserWallet> {
  const wallet =
    (walletId !== null && (await findHouseWalletById(db, walletId))) ||
    (userWalletId !== null && (await findUserWalletById(db, userWalletId))) ||
    undefined;
  if (wallet === undefined) throw new Error(`step ${id} is of a wallet that is not there`);
  if (wallet.provider !== provider.name) throw new Error(`step ${id} is in the hands of ${wallet.provider}`);
  return wallet;
}

async function noteHash(db: Queryable, { id, hash: known }: ChainStep, hash: Hex | undefined): Promise<void> {
  if (hash === undefined || hash === known) return;
  await db.query(
    `UPDATE chain_steps SET hash = $2, hashes = array_append(array_remove(hashes, $2), $2)
      WHERE id = $1 AND settled_at IS NULL`,
    [id, hash],
  );
}

/** Whether the watcher has read a block. */
export async function wasRead(
  db: Queryable,
  { chain }: Pick<ChainStep, 'chain'>,
  blockNumber: bigint,
): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM chain_cursors WHERE chain = $1 AND block_number >= $2', [
    chain,
    blockNumber,
  ]);
  return rows.length > 0;
}
