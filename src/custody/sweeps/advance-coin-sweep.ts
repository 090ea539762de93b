import { getAddress, type Hex } from 'viem';
import { keepBelow, smaller } from '../../chains/gas-fee-ceiling.ts';
import { type Network, tokenOf } from '../../chains/network.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { changeState } from '../../kernel/sagas/change-state.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { handleSaga, type SagaHandler, type SagaStep } from '../../kernel/sagas/run-saga.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import { postOrThrow } from '../../ledger/ledger.ts';
import type { Posting } from '../../ledger/posting.ts';
import { amountOf } from '../../money/amount.ts';
import { type ChainId, type Coin, chains } from '../../money/catalogue.ts';
import { advanceSaga } from '../steps/advance-saga.ts';
import type { SagaParts } from '../steps/chain-step.ts';
import { findStep, requireNetwork } from '../steps/chain-step.ts';
import { planStep } from '../steps/plan-step.ts';
import { settleStep } from '../steps/settle-step.ts';
import { type StepEnd, type StepProgress, takeStep } from '../steps/take-step.ts';
import { houseWallet } from '../wallets/house-wallets.ts';
import { ProviderError } from '../wallets/provider.ts';
import { findUserWalletById, type UserWallet } from '../wallets/user-wallets.ts';
import { coinSweepSaga } from './coin-sweep-saga.ts';

/** The fee may double before the transaction is signed. No provider reserves more. */
const roomForFees = 2n;

/** Enough if the fee doubles once more; otherwise the rest is left for the next sweep. */
const loanOverNeed = 2n;

/**
 * The highest cost of a transaction at the current price, in native coin. Above the fee ceiling nothing is lent, because nothing
 * would be sent either.
 */
export async function gasNeeded(
  { id: chain, client, feeCeiling }: Pick<Network, 'id' | 'client' | 'feeCeiling'>,
  gasLimit: bigint,
): Promise<bigint> {
  const { maxFeePerGas, maxPriorityFeePerGas: tip } = await client.estimateFeesPerGas();
  const { priorityFee } = keepBelow(feeCeiling, { chain, baseFee: maxFeePerGas - tip, tip });
  const price = smaller((maxFeePerGas - tip + priorityFee) * roomForFees, feeCeiling.maxFee);
  return smaller(gasLimit, feeCeiling.gasLimit) * price;
}

/** The amount to lend to a wallet that needs this much: 0 if the rest of earlier loans is enough. */
async function missingGas(db: Queryable, walletId: string, needed: bigint): Promise<bigint> {
  const { rows } = await db.query<{ atomic: bigint }>('SELECT atomic FROM lent_gas WHERE wallet_id = $1', [walletId]);
  // By the books and not the chain: coin from strangers is not ours to spend, and a lagging node would make us lend twice.
  const lent = rows[0]?.atomic ?? 0n;
  return lent >= needed ? 0n : loanOverNeed * needed - lent;
}

/** Native coin came to a wallet, or left it as a fee. */
async function noteLent(tx: Transaction, walletId: string, change: bigint): Promise<void> {
  await tx.query(
    `INSERT INTO lent_gas AS known (wallet_id, atomic) VALUES ($1, $2)
     ON CONFLICT (wallet_id) DO UPDATE SET atomic = known.atomic + excluded.atomic`,
    [walletId, change],
  );
}

/** From the gas tank to a user's wallet. It still belongs to the operator, and is not spent yet. */
function gasLent(chain: ChainId, { stepId, atomic }: { readonly stepId: string; readonly atomic: bigint }): Posting {
  const { native } = chains[chain];
  return {
    type: 'gas_loan',
    amount: amountOf(native, atomic),
    entries: [
      { account: houseAccount('gas_tank', native, chain), atomic },
      { account: houseAccount('gas_lent', native, chain), atomic: -atomic },
    ],
    reference: `gas_loan:${stepId}`,
  };
}

/** Deposits of one wallet, which that wallet itself sends to the treasury. */
interface CoinSweep {
  readonly id: string;
  readonly chain: ChainId;
  readonly asset: Coin;
  readonly walletId: string;
  readonly treasury: Hex;
  readonly atomic: bigint;
  /** How much gas its transaction may use. */
  readonly gasLimit: bigint;
  /** How often gas was lent for it, and how much the last time. */
  readonly loans: number;
  readonly loan: bigint;
  readonly status: 'lending' | 'moving' | 'complete' | 'failed';
}

/** The newest loan. The first has the name that the checkpoints use. */
function lendStep({ id, loans }: Pick<CoinSweep, 'id' | 'loans'>) {
  return { sagaId: id, step: loans <= 1 ? 'lend' : `lend_${loans}` };
}

function moveStep(sweepId: string) {
  return { sagaId: sweepId, step: 'move' } as const;
}

async function findCoinSweep(db: Queryable, id: string): Promise<CoinSweep | undefined> {
  const { rows } = await db.query<CoinSweep>(
    `SELECT id, chain, asset, wallet_id, treasury, atomic, gas_limit, loans, coalesce(loan, 0) AS loan, status FROM coin_sweeps
      WHERE id = $1`,
    [id],
  );
  return rows[0] && { ...rows[0], treasury: getAddress(rows[0].treasury) };
}

/** The wait before a refused loan is retried. */
const refusedMs = 60_000;

export function coinSweepHandler(parts: SagaParts): SagaHandler {
  return handleSaga(coinSweepSaga, (id) => findCoinSweep(parts.db, id), {
    lending: (sweep) => lend(parts, requireNetwork(parts.networks, sweep.chain), sweep),
    moving: (sweep) => move(parts, requireNetwork(parts.networks, sweep.chain), sweep),
  });
}

async function walletOf({ db }: SagaParts, { id, walletId }: CoinSweep): Promise<UserWallet> {
  const wallet = await findUserWalletById(db, walletId);
  if (wallet === undefined) throw new Error(`sweep ${id} is of a wallet that is not there`);
  return wallet;
}

/** One loan at a time: the next is considered only when the last one is in the books, so nothing is lent twice. */
async function lend(parts: SagaParts, network: Network, sweep: CoinSweep): Promise<SagaStep> {
  const { db, checkpoint = noCheckpoint } = parts;
  const current = sweep.loans === 0 ? undefined : await findStep(db, lendStep(sweep));
  if (current === undefined || current.state === 'confirmed' || current.state === 'failed') {
    const missing = await missingGas(db, sweep.walletId, await gasNeeded(network, sweep.gasLimit));
    if (missing > 0n) {
      await planLoan(parts, sweep, missing);
      checkpoint('coin_sweep.loan_planned');
    } else {
      await beginMoving(parts, sweep);
      checkpoint('coin_sweep.moving');
    }
    return 'go_on';
  }
  const { address } = await walletOf(parts, sweep);
  const progress = await takeStep(parts, lendStep(sweep), (from) => ({
    from,
    contract: address,
    data: '0x',
    value: sweep.loan,
  }));
  if (progress.state === 'waiting') return progress;
  await settleLoan(parts, sweep, current.id, progress);
  checkpoint('coin_sweep.lent');
  if (progress.state === 'confirmed') return 'go_on';
  return { lookAgainInMs: refusedMs, waitsFor: `gas to be lent: ${progress.reason}`, isTrouble: true };
}

async function planLoan({ db }: SagaParts, { id, chain, loans }: CoinSweep, atomic: bigint): Promise<void> {
  const wallet = await houseWallet(db, 'gas', chain);
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE coin_sweeps SET loans = loans + 1, loan = $3, updated_at = now()
        WHERE id = $1 AND loans = $2 AND status = 'lending'`,
      [id, loans, atomic],
    );
    // Native coin is no token, so the step sets nothing aside.
    if (rowCount === 1) {
      await planStep(tx, { saga: coinSweepSaga.name, ...lendStep({ id, loans: loans + 1 }), chain, wallet });
    }
  });
}

async function settleLoan({ db, ledger }: SagaParts, sweep: CoinSweep, stepId: string, end: StepEnd): Promise<void> {
  await db.transaction(async (tx) => {
    const gas = await settleStep(tx, lendStep(sweep), end);
    if (gas === undefined) return;
    const isLent = end.state === 'confirmed';
    if (isLent) await noteLent(tx, sweep.walletId, sweep.loan);
    await postOrThrow(tx, ledger, [...(isLent ? [gasLent(sweep.chain, { stepId, atomic: sweep.loan })] : []), ...gas]);
  });
}

async function beginMoving(parts: SagaParts, sweep: CoinSweep): Promise<void> {
  const { id, chain } = sweep;
  const userWallet = await walletOf(parts, sweep);
  await parts.db.transaction(async (tx) => {
    const isFirst = await changeState(tx, coinSweepSaga, { id, from: 'lending', to: 'moving' });
    // After a second loan the step is already planned, and planning it again changes nothing.
    if (isFirst) await planStep(tx, { saga: coinSweepSaga.name, ...moveStep(id), chain, userWallet });
  });
}

async function move(parts: SagaParts, network: Network, sweep: CoinSweep): Promise<SagaStep> {
  const { logger, checkpoint = noCheckpoint } = parts;
  const { id, chain, asset, treasury, atomic } = sweep;
  const token = tokenOf(network, asset);
  if (token === undefined) throw new Error(`sweep ${id} is of ${asset}, which is not held on ${network.id}`);
  const progress = await takeStep(parts, moveStep(id), (from) => ({
    from,
    token: token.address,
    to: treasury,
    atomic,
  })).catch((error: unknown) => orShortOfGas(error));
  if (progress.state === 'waiting') {
    if (await isShortOfGas(parts, network, sweep)) return 'go_on';
    return progress;
  }
  await finish(parts, sweep, progress);
  if (progress.state === 'failed') logger.warn({ chain, sweep: id }, `a sweep failed: ${progress.reason}`);
  checkpoint('coin_sweep.completed');
  return 'rest';
}

/** The wallet lacks native coin: the node lags behind the loan, or the gas price has risen. */
function orShortOfGas(error: unknown): Extract<StepProgress, { state: 'waiting' }> {
  if (!(error instanceof ProviderError) || error.code !== 'insufficient_gas') throw error;
  return { state: 'waiting', waitsFor: error.message, lookAgainInMs: 5_000 };
}

/** If the gas price has risen so far that the transaction may be stuck, more gas is lent. The transaction stays the same. */
async function isShortOfGas({ db }: SagaParts, network: Network, sweep: CoinSweep): Promise<boolean> {
  const missing = await missingGas(db, sweep.walletId, await gasNeeded(network, sweep.gasLimit));
  if (missing === 0n) return false;
  return changeState(db, coinSweepSaga, { id: sweep.id, from: 'moving', to: 'lending' });
}

/** Marks the deposits as swept, or releases them for the next sweep, in the commit that posts the gas. */
async function finish({ db, ledger }: SagaParts, sweep: CoinSweep, end: StepEnd): Promise<void> {
  const { id, walletId } = sweep;
  const hasMoved = end.state === 'confirmed';
  await db.transaction((tx) =>
    advanceSaga(tx, ledger, coinSweepSaga, {
      id,
      from: 'moving',
      to: hasMoved ? 'complete' : 'failed',
      settle: [{ ...moveStep(id), end }],
      post: async () => {
        await tx.query(
          `UPDATE deposits SET ${hasMoved ? 'swept_at = now()' : 'sweep_id = NULL'} WHERE sweep_id = $1 AND swept_at IS NULL`,
          [id],
        );
        if (end.gasCost > 0n) await noteLent(tx, walletId, -end.gasCost);
        return [];
      },
    }),
  );
}
