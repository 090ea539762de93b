import { encodeFunctionData, type Hex } from 'viem';
import { allowanceAbi } from '../../chains/abi.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import type { Amount } from '../../money/amount.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { type HouseWallet, houseWallet } from '../wallets/house-wallets.ts';
import { countAttempts, type EndedStep, numberedStep, planRetry, retryLater } from './advance-saga.ts';
import { type ChainStepParts, findStep, type SagaParts, type StepName } from './chain-step.ts';
import type { NewStep } from './plan-step.ts';
import { type StepProgress, takeStep } from './take-step.ts';

/**
 * Tokens that a house wallet spends for one saga. The treasury fills the wallet, and the wallet approves a contract that takes exactly
 * this amount. If the contract does not take it, the approval is revoked and the tokens return to the treasury.
 */
export interface Spending {
  /** The name of the saga. */
  readonly saga: string;
  readonly sagaId: string;
  readonly chain: ChainId;
  readonly wallet: HouseWallet;
  readonly amount: Amount;
  readonly token: Hex;
  readonly spender: Hex;
}

export const fillStep = (sagaId: string): StepName => ({ sagaId, step: 'fill' });
export const approveStep = (sagaId: string): StepName => ({ sagaId, step: 'approve' });
const revokeStep = (sagaId: string): StepName => ({ sagaId, step: 'disallow' });
const returnStep = (sagaId: string, attempt = 1): StepName => ({
  sagaId,
  step: numberedStep('return', attempt),
});

/** Sends the tokens from the treasury, which has set them aside (`awaitLiquidity`). */
export function fillWallet(
  parts: ChainStepParts,
  { sagaId, wallet, token, amount }: Spending,
  beforeAsking?: (tx: Transaction) => Promise<void>,
): Promise<StepProgress> {
  const transfer = { token, to: wallet.address, atomic: amount.atomic };
  return takeStep(parts, fillStep(sagaId), (treasury) => ({ from: treasury, ...transfer }), beforeAsking);
}

/** Increases the allowance instead of setting it: two sagas of one wallet must not overwrite each other's. */
export function approveSpender(parts: ChainStepParts, spending: Spending): Promise<StepProgress> {
  return changeAllowance(parts, spending, approveStep(spending.sagaId), 'increaseAllowance');
}

function changeAllowance(
  parts: ChainStepParts,
  { token, spender, amount }: Spending,
  step: StepName,
  functionName: 'increaseAllowance' | 'decreaseAllowance',
): Promise<StepProgress> {
  const data = encodeFunctionData({ abi: allowanceAbi, functionName, args: [spender, amount.atomic] });
  return takeStep(parts, step, (from) => ({ from, contract: token, data }));
}

/** The steps that undo the filling and, if it was granted, the approval. */
export function stepsToReturn(
  spending: Spending,
  { recipient, isApproved }: { readonly recipient: Hex; readonly isApproved: boolean },
): NewStep[] {
  const { saga, sagaId, chain, wallet } = spending;
  const back = stepToReturn(spending, { recipient, attempt: 1 });
  return isApproved ? [back, { saga, ...revokeStep(sagaId), chain, wallet }] : [back];
}

function stepToReturn(
  { saga, sagaId, chain, wallet, amount }: Spending,
  { recipient, attempt }: { readonly recipient: Hex; readonly attempt: number },
): NewStep {
  const leaves = [{ amount, recipient, stays: true as const }];
  return { saga, ...returnStep(sagaId, attempt), chain, wallet, leaves };
}

/**
 * Revokes the approval and returns the tokens. The treasury needs them, so a refused transfer is retried until it succeeds. Answers what
 * the saga waits for, or the steps to settle.
 */
export async function returnTokens(
  parts: SagaParts,
  spending: Spending,
): Promise<Exclude<SagaStep, string> | { readonly ended: readonly EndedStep[] }> {
  const { db, logger } = parts;
  const { saga, sagaId, chain, token, amount } = spending;
  const ended: EndedStep[] = [];
  const revoke = revokeStep(sagaId);
  if ((await findStep(db, revoke)) !== undefined) {
    const end = await changeAllowance(parts, spending, revoke, 'decreaseAllowance');
    if (end.state === 'waiting') return end;
    ended.push({ ...revoke, end });
  }
  const attempt = await countAttempts(parts, { sagaId, name: 'return' });
  const back = returnStep(sagaId, attempt);
  const to = await recipientOf(db, back);
  const end = await takeStep(parts, back, (from) => ({ from, token, to, atomic: amount.atomic }));
  if (end.state === 'waiting') return end;
  if (end.state === 'failed') {
    await planRetry(parts, { ...back, end }, async (tx) => {
      const { address: recipient } = await houseWallet(tx, 'treasury', chain);
      return stepToReturn(spending, { recipient, attempt: attempt + 1 });
    });
    return retryLater(attempt, `its tokens to go back to the treasury: ${end.reason}`);
  }
  for (const { step, end: revoked } of ended) {
    if (revoked.state === 'failed') {
      logger.error({ saga, id: sagaId, step, reason: revoked.reason }, 'an allowance could not be revoked');
    }
  }
  return { ended: [...ended, { ...back, end }] };
}

/** The treasury as it was when the step was planned: a request under one key never changes. */
async function recipientOf(db: Queryable, { sagaId, step }: StepName): Promise<Hex> {
  const { rows } = await db.query<{ recipient: Hex }>(
    `SELECT l.recipient FROM chain_step_leaves l JOIN chain_steps s ON s.id = l.step_id
      WHERE s.saga_id = $1 AND s.step = $2`,
    [sagaId, step],
  );
  const [found] = rows;
  if (found === undefined) throw new Error(`${sagaId} has nothing to return`);
  return found.recipient;
}
