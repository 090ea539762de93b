import { encodeFunctionData, type Hex } from 'viem';
import { allowanceAbi } from '../../chains/abi.ts';
import { uniswap } from '../../chains/uniswap.ts';
import { encodeWrapTo } from '../../chains/wrapped-coin.ts';
import { timesPlanned, waitToAskAnew } from '../../custody/steps/ask-anew.ts';
import { findStep } from '../../custody/steps/chain-step.ts';
import { dropStep, planStep } from '../../custody/steps/plan-step.ts';
import { settleStep } from '../../custody/steps/settle-step.ts';
import { type StepEnd, takeStep } from '../../custody/steps/take-step.ts';
import { whatArrived } from '../../custody/steps/what-arrived.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import { postSurely } from '../../ledger/post-surely.ts';
import type { Posting } from '../../ledger/posting.ts';
import { homeChain } from '../../money/catalogue.ts';
import { explainFailure, isByMarket } from './explain-failure.ts';
import { findSwapper, homeNetwork, type SwapParts, tokenAddress } from './parts.ts';
import { refund, surplusOf, unwrapped } from './postings.ts';
import { swapSaga } from './saga.ts';
import {
  disallowStep,
  fillStep,
  isCoin,
  isWrapStep,
  prepareStep,
  returnStep,
  type Swap,
  swapStep,
  wrapStep,
} from './swap.ts';

/**
 * It was certainly not swapped: the amount is its owner's again at once, less the gas if that is the market's doing. What the wallet
 * that swaps holds for it goes back to the treasury, and what was prepared is undone. A reason is given where the step itself did not fail.
 */
export async function failSwap(parts: SwapParts, swap: Swap, end: StepEnd, because?: string): Promise<void> {
  const { db, ledger, logger } = parts;
  const { id, status } = swap;
  const reason = because ?? explainFailure(end.state === 'failed' ? end.reason : 'It was not swapped.');
  const next = status === 'queued' ? 'failed' : 'returning';
  // Its owner pays the gas that the market has made us pay for nothing. What is late, or was refused by others, is ours.
  const gasDue = swap.gasDue && next === 'returning' && isByMarket(reason);
  const isFirst = await db.transaction(async (tx) => {
    const { address: treasury } = await houseWallet(tx, 'treasury', homeChain);
    const recipient = swap.recipient ?? treasury;
    const { rowCount } = await tx.query(
      `UPDATE swaps SET status = $2, error = $3, updated_at = now(), recipient = $5, gas_due = $6,
          finished_at = CASE WHEN $2 = 'failed' THEN now() END
        WHERE id = $1 AND status = $4`,
      [id, next, reason, status, recipient.toLowerCase(), gasDue],
    );
    if (rowCount === 0) return false;
    const gas = (await settleStep(tx, stepOf(swap), end)) ?? [];
    const isPrepared = status === 'swapping' || (status === 'preparing' && end.state === 'confirmed');
    if (next === 'returning') await planReturn(tx, swap, { isPrepared, recipient });
    const more = status === 'preparing' && isPrepared ? unwrapped(swap) : [];
    await postSurely(tx, ledger, [refund({ ...swap, status: next, gasDue }, reason), ...more, ...gas]);
    return true;
  });
  // Of two processes one decides; and what the other has decided may be that it is swapped.
  if (isFirst) logger.warn({ swap: id }, `a swap failed: ${end.state === 'failed' ? end.reason : reason}`);
}

/** Nobody was asked for anything yet: it leaves the line, and the whole amount is its owner's again. */
export async function abandonSwap({ db, ledger, logger }: SwapParts, swap: Swap, reason: string): Promise<void> {
  const { id } = swap;
  const isFirst = await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE swaps SET status = 'failed', error = $2, updated_at = now(), finished_at = now()
        WHERE id = $1 AND status = 'queued'`,
      [id, reason],
    );
    if (rowCount === 0) return false;
    // What was asked meanwhile cannot be dropped: then none of this happens.
    await dropStep(tx, fillStep(id));
    await postSurely(tx, ledger, [refund({ ...swap, gasDue: false }, reason)]);
    return true;
  });
  if (isFirst) logger.warn({ swap: id }, `a swap failed before anything was sent: ${reason}`);
}

function stepOf(swap: Swap): StepName {
  if (swap.status === 'queued') return fillStep(swap.id);
  return swap.status === 'preparing' ? prepareStep(swap) : swapStep(swap.id);
}

async function planReturn(
  tx: Transaction,
  swap: Swap,
  { isPrepared, recipient }: { readonly isPrepared: boolean; readonly recipient: Hex },
): Promise<void> {
  const { id } = swap;
  if (isCoin(swap) && isPrepared) {
    await planWrap(tx, swap, { which: wrapStep(id), recipient });
    return;
  }
  await planBack(tx, swap, { which: returnStep(id), recipient });
  if (!isPrepared) return;
  await planStep(tx, {
    saga: swapSaga.name,
    ...disallowStep(id),
    chain: homeChain,
    wallet: await findSwapper(tx, swap),
  });
}

async function planBack(tx: Transaction, swap: Swap, { which, recipient }: Planned): Promise<void> {
  const leaves = [{ amount: swap.net, recipient, stays: true as const }];
  const wallet = await findSwapper(tx, swap);
  await planStep(tx, { saga: swapSaga.name, ...which, chain: homeChain, wallet, leaves });
}

interface Planned {
  readonly which: StepName;
  readonly recipient: Hex;
}

async function planWrap(tx: Transaction, swap: Swap, { which, recipient }: Planned): Promise<void> {
  const { asset } = swap.net;
  const account = houseAccount('unwrapped_in_transit', asset);
  await planStep(tx, {
    saga: swapSaga.name,
    ...which,
    chain: homeChain,
    wallet: await findSwapper(tx, swap),
    arrives: [{ chain: homeChain, address: recipient, asset, account, knownBy: 'transaction' }],
  });
}

/**
 * Returning: house-keeping. Its owner has the amount already. The treasury needs the tokens, so what is refused is asked for again
 * until they are back.
 */
export async function returnToTreasury(parts: SwapParts, swap: Swap): Promise<SagaStep> {
  const { db, ledger, networks, logger } = parts;
  const { id, net, recipient } = swap;
  if (recipient === null) throw new Error(`swap ${id} does not know where it goes back to`);
  const times = {
    returns: await timesPlanned(parts, { sagaId: id, name: 'return' }),
    wraps: await timesPlanned(parts, { sagaId: id, name: 'wrap' }),
  };
  const surplus: Posting[] = [];
  const ends: { readonly which: StepName; readonly end: StepEnd }[] = [];
  for (const { which, request } of housekeeping(parts, swap, { recipient, ...times })) {
    const step = await findStep(db, which);
    if (step === undefined) continue;
    const progress = await takeStep(parts, which, request);
    if (progress.state === 'waiting') return progress;
    if (progress.state === 'failed' && isWrapStep(which)) {
      const next = { which: wrapStep(id, times.wraps + 1), recipient };
      await askAnew(parts, { which, end: progress }, (tx) => planWrap(tx, swap, next));
      return waitToAskAnew(times.wraps, `it to be wrapped: ${progress.reason}`);
    }
    if (progress.state === 'failed' && which.step !== disallowStep(id).step) {
      const next = { which: returnStep(id, times.returns + 1), recipient };
      await askAnew(parts, { which, end: progress }, (tx) => planBack(tx, swap, next));
      return waitToAskAnew(times.returns, `its tokens to go back to the treasury: ${progress.reason}`);
    }
    if (isWrapStep(which)) {
      const arrived = await whatArrived(db, step, net.asset);
      if (arrived === undefined) {
        return { lookAgainInMs: homeNetwork(networks).pollMs, waitsFor: 'the wrapped coin to arrive' };
      }
      surplus.push(...surplusOf(swap, arrived));
    }
    ends.push({ which, end: progress });
  }
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE swaps SET status = 'failed', updated_at = now(), finished_at = now()
        WHERE id = $1 AND status = 'returning'`,
      [id],
    );
    if (rowCount === 0) return;
    const gas: Posting[] = [];
    for (const { which, end } of ends) gas.push(...((await settleStep(tx, which, end)) ?? []));
    await postSurely(tx, ledger, [...surplus, ...gas]);
  });
  for (const { which, end } of ends) {
    if (end.state !== 'failed') continue;
    logger.error(
      { swap: id, step: which.step, reason: end.reason },
      'what was not swapped may still be taken by the router',
    );
  }
  return 'rest';
}

/**
 * It is asked for anew, under another key: as native coin nobody can be paid with it, and it would be mistaken for gas; as tokens
 * the treasury would run short.
 */
async function askAnew(
  { db, ledger }: SwapParts,
  { which, end }: { readonly which: StepName; readonly end: StepEnd },
  plan: (tx: Transaction) => Promise<void>,
): Promise<void> {
  await db.transaction(async (tx) => {
    const gas = await settleStep(tx, which, end);
    if (gas === undefined) return;
    await plan(tx);
    await postSurely(tx, ledger, gas);
  });
}

interface StepName {
  readonly sagaId: string;
  readonly step: string;
}

interface Housekeeping {
  readonly which: StepName;
  readonly request: Parameters<typeof takeStep>[2];
}

/** Each that was planned is done. */
function housekeeping(
  { networks, market }: SwapParts,
  { id, net }: Swap,
  { recipient, returns, wraps }: { readonly recipient: Hex; readonly returns: number; readonly wraps: number },
): Housekeeping[] {
  const token = tokenAddress(networks, net.asset);
  return [
    {
      which: disallowStep(id),
      request: (from) => ({
        from,
        contract: token,
        data: encodeFunctionData({
          abi: allowanceAbi,
          functionName: 'decreaseAllowance',
          args: [market.spender, net.atomic],
        }),
      }),
    },
    { which: returnStep(id, returns), request: (from) => ({ from, token, to: recipient, atomic: net.atomic }) },
    {
      which: wrapStep(id, wraps),
      request: (from) => ({
        from,
        contract: uniswap.router,
        data: encodeWrapTo(recipient, net.atomic),
        value: net.atomic,
      }),
    },
  ];
}
