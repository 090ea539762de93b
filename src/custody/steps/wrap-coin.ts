import type { Hex } from 'viem';
import { uniswap } from '../../chains/abi.ts';
import { encodeWrapTo } from '../../chains/wrapped-coin.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import type { Posting } from '../../ledger/posting.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import type { ChainId } from '../../money/catalogue.ts';
import type { HouseWallet } from '../wallets/house-wallets.ts';
import { countAttempts, type EndedStep, numberedStep, planRetry, retryLater } from './advance-saga.ts';
import { findStep, type SagaParts, type StepName } from './chain-step.ts';
import { arrivedAmount } from './match-arrival.ts';
import type { NewStep } from './plan-step.ts';
import { takeStep } from './take-step.ts';

/** Native coin that a saga has unwrapped and not paid. It is wrapped again, and arrives at the recipient as a token. */
export interface Wrapping {
  /** The name of the saga. */
  readonly saga: string;
  readonly sagaId: string;
  readonly chain: ChainId;
  readonly wallet: HouseWallet;
  readonly amount: Amount;
  readonly recipient: Hex;
}

export const wrapStep = (sagaId: string, attempt = 1): StepName => ({ sagaId, step: numberedStep('wrap', attempt) });

export function stepToWrap(wrapping: Wrapping, attempt = 1): NewStep {
  const { saga, sagaId, chain, wallet, recipient } = wrapping;
  const { asset } = wrapping.amount;
  const account = houseAccount('unwrapped_in_transit', asset, chain);
  const arrives = [{ chain, address: recipient, asset, account, knownBy: 'transaction' as const }];
  return { saga, ...wrapStep(sagaId, attempt), chain, wallet, arrives };
}

/**
 * Native coin is not spendable by sagas and would be mistaken for gas, so a refused wrap is retried until it succeeds. Answers what the
 * saga waits for, or the step to settle and the surplus to post.
 */
export async function wrapCoin(
  parts: Omit<SagaParts, 'logger'>,
  wrapping: Wrapping,
): Promise<Exclude<SagaStep, string> | { readonly ended: readonly EndedStep[]; readonly surplus: readonly Posting[] }> {
  const { db, networks } = parts;
  const { sagaId, chain, amount, recipient } = wrapping;
  const attempt = await countAttempts(parts, { sagaId, name: 'wrap' });
  const wrap = wrapStep(sagaId, attempt);
  const step = await findStep(db, wrap);
  if (step === undefined) throw new Error(`${sagaId} has nothing to wrap`);
  const data = encodeWrapTo(recipient, amount.atomic);
  const end = await takeStep(parts, wrap, (from) => ({
    from,
    contract: uniswap.router,
    data,
    value: amount.atomic,
  }));
  if (end.state === 'waiting') return end;
  if (end.state === 'failed') {
    await planRetry(parts, { ...wrap, end }, async () => stepToWrap(wrapping, attempt + 1));
    return retryLater(attempt, `its coin to be wrapped: ${end.reason}`);
  }
  const arrived = await arrivedAmount(db, step, amount.asset);
  if (arrived === undefined) {
    return { lookAgainInMs: networks.get(chain)?.pollMs ?? 2_000, waitsFor: 'the wrapped coin to arrive' };
  }
  return { ended: [{ ...wrap, end }], surplus: surplusOf(wrapping, arrived) };
}

/** The router wraps everything it holds, so coin that others left there comes along. */
function surplusOf({ saga, sagaId, chain, amount: { asset, atomic } }: Wrapping, arrived: bigint): Posting[] {
  const surplus = arrived - atomic;
  if (surplus < 0n) throw new Error(`${saga} ${sagaId} was wrapped, but less than ${atomic} has arrived`);
  if (surplus === 0n) return [];
  return [
    {
      type: 'surplus',
      amount: amountOf(asset, surplus),
      entries: [
        { account: houseAccount('unwrapped_in_transit', asset, chain), atomic: -surplus },
        { account: houseAccount('surplus', asset, chain), atomic: surplus },
      ],
      reference: `${saga}:${sagaId}:surplus`,
    },
  ];
}
