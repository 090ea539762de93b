import { uniswap } from '../../chains/uniswap.ts';
import { encodeWrapTo } from '../../chains/wrapped-coin.ts';
import { advanceSaga, planRetry } from '../../custody/steps/advance-saga.ts';
import { numberedStep, timesPlanned } from '../../custody/steps/ask-anew.ts';
import { type ChainStep, findStep } from '../../custody/steps/chain-step.ts';
import type { NewStep } from '../../custody/steps/plan-step.ts';
import { type StepEnd, takeStep } from '../../custody/steps/take-step.ts';
import { whatArrived } from '../../custody/steps/what-arrived.ts';
import type { HouseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Posting } from '../../ledger/posting.ts';
import { amountOf } from '../../money/amount.ts';
import { returnPosting } from './finish-withdrawal.ts';
import type { WithdrawalSagaParts } from './parts.ts';
import { withdrawalSaga } from './saga.ts';
import { payStep, stepWallet, type Withdrawal } from './withdrawal.ts';

interface WrapParts {
  readonly db: Database;
  readonly ledger: Ledger;
}

/** The wait before a refused wrap is retried. */
const refusedMs = 60_000;

/**
 * The unwrapped coin was not paid: it is wrapped again before it is returned. One commit, with the caller's own writes: it settles a payment
 * that failed and drops one that was never submitted. False when it was over before.
 */
export async function beginWrapping(
  { db, ledger }: WrapParts,
  withdrawal: Withdrawal,
  end: Extract<StepEnd, { state: 'failed' }> | { readonly neverAsked: string },
  alongside: (tx: Transaction) => Promise<void> = async () => {},
): Promise<boolean> {
  const { id, chain, status } = withdrawal;
  const wasAsked = 'state' in end;
  const reason = wasAsked ? end.reason : end.neverAsked;
  return db.transaction((tx) =>
    advanceSaga(tx, ledger, withdrawalSaga, {
      id,
      from: status,
      to: 'wrapping',
      set: { error: reason },
      alongside: async () => {
        await alongside(tx);
        // A held withdrawal has no job.
        if (!wasAsked) await wakeSaga(tx, { saga: withdrawalSaga.name, id, lane: chain });
      },
      ...(wasAsked ? { settle: [{ ...payStep(id), end }] } : { drop: [payStep(id)] }),
      plan: async () => [stepToWrap(withdrawal, await stepWallet(tx, payStep(id)), 1)],
    }),
  );
}

function stepToWrap({ id, chain, net: { asset } }: Withdrawal, wallet: HouseWallet, attempt: number): NewStep {
  return {
    saga: withdrawalSaga.name,
    sagaId: id,
    step: numberedStep('wrap', attempt),
    chain,
    wallet,
    arrives: [
      {
        chain,
        address: wallet.address,
        asset,
        account: houseAccount('unwrapped_in_transit', asset, chain),
        knownBy: 'transaction',
      },
    ],
  };
}

/** Wrapping: the coin is returned to its owner once the wrapped token has arrived in the treasury. */
export async function wrapAgain(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<SagaStep> {
  const { db, networks } = parts;
  const { id, chain, net } = withdrawal;
  const attempt = await timesPlanned(parts, { sagaId: id, name: 'wrap' });
  const current = await findStep(db, { sagaId: id, step: numberedStep('wrap', attempt) });
  if (current === undefined) throw new Error(`withdrawal ${id} has nothing to wrap`);
  const progress = await takeStep(parts, current, (from) => ({
    from,
    contract: uniswap.router,
    data: encodeWrapTo(from.address, net.atomic),
    value: net.atomic,
  }));
  if (progress.state === 'waiting') return progress;
  if (progress.state === 'failed') {
    await planRetry(parts, { sagaId: id, step: current.step, end: progress }, async (tx) =>
      stepToWrap(withdrawal, await stepWallet(tx, current), attempt + 1),
    );
    return { lookAgainInMs: refusedMs, waitsFor: `it to be wrapped: ${progress.reason}`, isTrouble: true };
  }
  const arrived = await whatArrived(db, current, net.asset);
  if (arrived === undefined) {
    return { lookAgainInMs: networks.get(chain)?.pollMs ?? 2_000, waitsFor: 'the wrapped coin to arrive' };
  }
  await finishWrapping(parts, withdrawal, current, { end: progress, arrived });
  return 'rest';
}

async function finishWrapping(
  { db, ledger }: WrapParts,
  withdrawal: Withdrawal,
  current: ChainStep,
  { end, arrived }: { readonly end: StepEnd; readonly arrived: bigint },
): Promise<void> {
  const { id, error } = withdrawal;
  await db.transaction((tx) =>
    advanceSaga(tx, ledger, withdrawalSaga, {
      id,
      from: 'wrapping',
      to: 'failed',
      settle: [{ sagaId: id, step: current.step, end }],
      post: [
        ...surplusOf(withdrawal, arrived),
        returnPosting(withdrawal, { failed: error ?? 'It could not be paid.' }),
      ],
    }),
  );
}

/** The router wraps everything it holds, so coin that others left there comes along. */
function surplusOf({ id, chain, net }: Withdrawal, arrived: bigint): Posting[] {
  const surplus = arrived - net.atomic;
  if (surplus < 0n) throw new Error(`withdrawal ${id} was wrapped, but less than ${net.atomic} has arrived`);
  if (surplus === 0n) return [];
  return [
    {
      type: 'surplus',
      amount: amountOf(net.asset, surplus),
      entries: [
        { account: houseAccount('unwrapped_in_transit', net.asset, chain), atomic: -surplus },
        { account: houseAccount('surplus', net.asset, chain), atomic: surplus },
      ],
      reference: `withdrawal:${id}:surplus`,
    },
  ];
}
