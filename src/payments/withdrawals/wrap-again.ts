import { uniswap } from '../../chains/uniswap.ts';
import { encodeWrapTo } from '../../chains/wrapped-coin.ts';
import { type ChainStep, listSteps } from '../../custody/steps/chain-step.ts';
import { dropStep, planStep } from '../../custody/steps/plan-step.ts';
import { settleStep } from '../../custody/steps/settle-step.ts';
import { type StepEnd, takeStep } from '../../custody/steps/take-step.ts';
import { whatArrived } from '../../custody/steps/what-arrived.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { postSurely } from '../../ledger/post-surely.ts';
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

/** How long to wait before it is wrapped anew, after that was refused. */
const refusedMs = 60_000;

/**
 * Nobody gets the native coin that was unwrapped: it is wrapped again, and only then given back. False when it was over before.
 * A payment that was never asked for is dropped; one that failed is settled. One commit, with whatever else is part of it.
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
  return db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE withdrawals SET status = 'wrapping', error = $3, updated_at = now() WHERE id = $1 AND status = $2`,
      [id, status, reason],
    );
    if (rowCount === 0) return false;
    await alongside(tx);
    const wallet = await stepWallet(tx, payStep(id));
    const gas = wasAsked ? await settleStep(tx, payStep(id), end) : undefined;
    if (!wasAsked) {
      await dropStep(tx, payStep(id));
      // What was held has nobody who goes on with it.
      await wakeSaga(tx, { saga: withdrawalSaga.name, id, lane: chain });
    }
    await planWrap(tx, withdrawal, { wallet, step: 'wrap' });
    await postSurely(tx, ledger, gas ?? []);
    return true;
  });
}

async function planWrap(
  tx: Transaction,
  { id, chain, net: { asset } }: Withdrawal,
  { wallet, step }: { readonly wallet: Awaited<ReturnType<typeof stepWallet>>; readonly step: string },
): Promise<void> {
  await planStep(tx, {
    saga: withdrawalSaga.name,
    sagaId: id,
    step,
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
  });
}

/** Wrapping: what was unwrapped comes back to the treasury as a token, is seen to arrive there, and goes back to its owner. */
export async function wrapAgain(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<SagaStep> {
  const { db, networks } = parts;
  const { id, chain, net } = withdrawal;
  const wraps = (await listSteps(db, id)).filter(({ step }) => step.startsWith('wrap'));
  const current = wraps.at(-1);
  if (current === undefined) throw new Error(`withdrawal ${id} has nothing to wrap`);
  const progress = await takeStep(parts, current, (from) => ({
    from,
    contract: uniswap.router,
    data: encodeWrapTo(from.address, net.atomic),
    value: net.atomic,
  }));
  if (progress.state === 'waiting') return progress;
  if (progress.state === 'failed') {
    await planAnother(parts, withdrawal, current, { wraps: wraps.length, end: progress });
    return { lookAgainInMs: refusedMs, waitsFor: `it to be wrapped: ${progress.reason}`, isTrouble: true };
  }
  const arrived = await whatArrived(db, current, net.asset);
  if (arrived === undefined) {
    return { lookAgainInMs: networks.get(chain)?.pollMs ?? 2_000, waitsFor: 'the wrapped coin to arrive' };
  }
  await finishWrapping(parts, withdrawal, current, { end: progress, arrived });
  return 'rest';
}

/** It cannot be left as native coin: whatever was refused is asked for anew, under another key. */
async function planAnother(
  { db, ledger }: WrapParts,
  withdrawal: Withdrawal,
  current: ChainStep,
  { wraps, end }: { readonly wraps: number; readonly end: StepEnd },
): Promise<void> {
  await db.transaction(async (tx) => {
    const wallet = await stepWallet(tx, current);
    const gas = await settleStep(tx, current, end);
    if (gas === undefined) return;
    await planWrap(tx, withdrawal, { wallet, step: `wrap_${wraps + 1}` });
    await postSurely(tx, ledger, gas);
  });
}

async function finishWrapping(
  { db, ledger }: WrapParts,
  withdrawal: Withdrawal,
  current: ChainStep,
  { end, arrived }: { readonly end: StepEnd; readonly arrived: bigint },
): Promise<void> {
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      "UPDATE withdrawals SET status = 'failed', updated_at = now(), finished_at = now() WHERE id = $1 AND status = 'wrapping'",
      [withdrawal.id],
    );
    if (rowCount === 0) return;
    const gas = await settleStep(tx, current, end);
    await postSurely(tx, ledger, [
      ...surplusOf(withdrawal, arrived),
      returnPosting(withdrawal, { failed: withdrawal.error ?? 'It could not be paid.' }),
      ...(gas ?? []),
    ]);
  });
}

/** Whatever somebody had left in the router came along. */
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
