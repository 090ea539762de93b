import type { Networks } from '../chains/network.ts';
import { type Checkpoint, noCheckpoint } from '../checkpoint.ts';
import type { Database } from '../db/database.ts';
import { enqueue, handleJob, type JobHandler } from '../jobs/define-job.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Logger } from '../logger.ts';
import { findHouseWalletById } from '../wallets/house-wallets.ts';
import { ProviderError, type TransactionReport, type WalletProvider } from '../wallets/provider.ts';
import { completeWithdrawal, failWithdrawal } from './finish-withdrawal.ts';
import { holdWithdrawal } from './hold-withdrawal.ts';
import { advanceWithdrawal } from './jobs.ts';
import { reserveLiquidity } from './reserve-liquidity.ts';
import type { Screening } from './screening.ts';
import { findWithdrawal, type Withdrawal } from './withdrawal.ts';

export interface WithdrawalSagaParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly screening: Screening;
  readonly logger: Logger;
  readonly checkpoint?: Checkpoint;
}

/** What a step comes to: go on with the next one, look again later, or there is nothing left to do. */
type Step = 'go_on' | 'done' | { readonly lookAgainInMs: number };

/** How long to wait for what takes its time, such as money to arrive in the treasury. */
const patienceMs = 2_000;

/** How long at least to leave a provider or a chain alone that is in trouble. */
const troubleMs = 5_000;

export function advanceWithdrawalHandler(parts: WithdrawalSagaParts): JobHandler {
  const sayOnce = createSayOnce(parts.logger);
  return handleJob(advanceWithdrawal, async ({ withdrawalId }) => {
    for (;;) {
      const withdrawal = await findWithdrawal(parts.db, withdrawalId);
      if (withdrawal === undefined) throw new Error(`there is no withdrawal ${withdrawalId}`);
      const step = await advance(parts, withdrawal).catch((error: unknown) => waitOut(error, sayOnce));
      if (step === 'go_on') continue;
      if (step !== 'done') await lookAgain(parts.db, withdrawal, step.lookAgainInMs);
      return;
    }
  });
}

/** One step. It may be taken any number of times, by any process, with the same result. */
async function advance(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<Step> {
  switch (withdrawal.status) {
    case 'queued':
      return screen(parts, withdrawal);
    case 'awaiting_liquidity':
      return reserve(parts, withdrawal);
    case 'sending':
      return send(parts, withdrawal);
    case 'held':
    case 'complete':
    case 'failed':
      return 'done';
  }
}

function waitOut(error: unknown, sayOnce: (code: string, sentence: string) => void): Step {
  if (!(error instanceof ProviderError && error.retryable)) throw error;
  sayOnce(error.code, `withdrawals wait: ${error.message}`);
  return { lookAgainInMs: Math.max(error.retryAfterMs ?? 0, troubleMs) };
}

/** However many withdrawals wait for the same thing, the log says it once a minute. */
function createSayOnce(logger: Logger): (code: string, sentence: string) => void {
  const saidAt = new Map<string, number>();
  return (code, sentence) => {
    const now = performance.now();
    if (now - (saidAt.get(code) ?? Number.NEGATIVE_INFINITY) < 60_000) return;
    saidAt.set(code, now);
    logger.warn({ code }, sentence);
  };
}

async function screen(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<Step> {
  const { db, checkpoint = noCheckpoint } = parts;
  if (await isHeldByScreening(parts, withdrawal)) return 'done';
  await db.query(
    "UPDATE withdrawals SET status = 'awaiting_liquidity', updated_at = now() WHERE id = $1 AND status = 'queued'",
    [withdrawal.id],
  );
  checkpoint('withdrawal.screened');
  return 'go_on';
}

async function isHeldByScreening(
  { db, screening, logger }: WithdrawalSagaParts,
  withdrawal: Withdrawal,
): Promise<boolean> {
  const { id, chain, address, released } = withdrawal;
  const verdict = released ? { clear: true as const } : await screening.check({ chain, address });
  if (verdict.clear) return false;
  await holdWithdrawal(db, withdrawal, { reason: verdict.reason, freeze: true });
  logger.error({ withdrawal: id }, `a withdrawal is held and its account frozen: ${verdict.reason}`);
  return true;
}

/** It may have waited here for long, so the screening is asked once more. */
async function reserve(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<Step> {
  if (await isHeldByScreening(parts, withdrawal)) return 'done';
  const reserved = await reserveLiquidity(parts, withdrawal);
  if (reserved === 'frozen') {
    await holdWithdrawal(parts.db, withdrawal, { reason: 'the account is frozen', freeze: false });
    return 'done';
  }
  if (reserved === 'not_enough') return { lookAgainInMs: patienceMs * (0.5 + Math.random()) };
  parts.checkpoint?.('withdrawal.reserved');
  return 'go_on';
}

async function send(parts: WithdrawalSagaParts, withdrawal: Withdrawal): Promise<Step> {
  const { db, provider, checkpoint = noCheckpoint } = parts;
  let ref = withdrawal.providerRef;
  if (ref === null) {
    const asked = await ask(parts, withdrawal);
    if (asked.refused !== undefined) return fail(parts, withdrawal, { reason: asked.refused, gasCost: 0n });
    ref = asked.ref;
    await db.query('UPDATE withdrawals SET provider_ref = $2, updated_at = now() WHERE id = $1', [withdrawal.id, ref]);
    checkpoint('withdrawal.taken');
  }
  const report = await provider.lookUp(withdrawal.chain, ref);
  switch (report.state) {
    case 'pending':
      await noteHash(db, withdrawal, report.hash);
      return lookNextBlock(parts, withdrawal);
    case 'confirmed':
      return complete(parts, withdrawal, report);
    case 'failed':
      return fail(parts, withdrawal, report);
  }
}

/** Asks the provider to pay. Only a refusal for good means that nothing was or will be sent. */
async function ask(
  { db, networks, provider }: WithdrawalSagaParts,
  { id, chain, address, net, idempotencyKey, houseWalletId }: Withdrawal,
): Promise<{ readonly ref: string; readonly refused?: undefined } | { readonly refused: string }> {
  const from = houseWalletId === null ? undefined : await findHouseWalletById(db, houseWalletId);
  const token = networks.get(chain)?.tokens.find(({ asset }) => asset === net.asset);
  if (from === undefined || token === undefined)
    throw new Error(`withdrawal ${id} has no wallet or no token to pay with`);
  // Perhaps its own provider has paid it: another one cannot know.
  if (from.provider !== provider.name) throw new Error(`withdrawal ${id} is in the hands of ${from.provider}`);
  try {
    return {
      ref: await provider.sendToken({ idempotencyKey, from, token: token.address, to: address, atomic: net.atomic }),
    };
  } catch (error) {
    // The key belongs to something else: perhaps it was paid, so a person has to look.
    if (!(error instanceof ProviderError) || error.retryable || error.code === 'idempotency_mismatch') throw error;
    return { refused: error.message };
  }
}

/** Told as complete only when the chain has been read that far, so that the books and the chain agree at every block. */
async function complete(
  parts: WithdrawalSagaParts,
  withdrawal: Withdrawal,
  report: Extract<TransactionReport, { state: 'confirmed' }>,
): Promise<Step> {
  const { db, checkpoint = noCheckpoint } = parts;
  await noteHash(db, withdrawal, report.hash);
  const { rows } = await db.query<{ block_number: bigint }>('SELECT block_number FROM chain_cursors WHERE chain = $1', [
    withdrawal.chain,
  ]);
  if (rows[0] === undefined || rows[0].block_number < report.blockNumber) return lookNextBlock(parts, withdrawal);
  checkpoint('withdrawal.confirmed');
  await completeWithdrawal(parts, withdrawal, report);
  checkpoint('withdrawal.completed');
  return 'done';
}

async function fail(
  parts: WithdrawalSagaParts,
  withdrawal: Withdrawal,
  failure: { readonly reason: string; readonly gasCost: bigint; readonly hash?: `0x${string}` },
): Promise<Step> {
  await failWithdrawal(parts, withdrawal, failure);
  parts.logger.warn({ withdrawal: withdrawal.id }, `a withdrawal failed: ${failure.reason}`);
  return 'done';
}

async function noteHash(db: Database, { id, txHash }: Withdrawal, hash: string | undefined): Promise<void> {
  if (hash === undefined || hash === txHash) return;
  await db.query("UPDATE withdrawals SET tx_hash = $2, updated_at = now() WHERE id = $1 AND status = 'sending'", [
    id,
    hash,
  ]);
}

function lookNextBlock({ networks }: WithdrawalSagaParts, { chain }: Withdrawal): Step {
  return { lookAgainInMs: networks.get(chain)?.pollMs ?? patienceMs };
}

async function lookAgain(db: Database, { id }: Withdrawal, delayMs: number): Promise<void> {
  await enqueue(db, advanceWithdrawal, { withdrawalId: id }, { key: id, delayMs });
}
