import type { Hex } from 'viem';
import { multicallAddress } from '../../chains/abi.ts';
import { encodeSubmission, isValidAt } from '../../chains/authorization.ts';
import type { Network } from '../../chains/network.ts';
import { type ChainStepParts, requireNetwork } from '../../custody/steps/chain-step.ts';
import { authorizationProof } from '../../custody/steps/receipt-proofs.ts';
import { settleStep } from '../../custody/steps/settle-step.ts';
import { type StepEnd, takeStep } from '../../custody/steps/take-step.ts';
import { type Database, onlyRow, type Transaction } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { handleSaga, type SagaHandler, type SagaStep } from '../../kernel/sagas/run-saga.ts';
import { type Ledger, postOrThrow } from '../../ledger/ledger.ts';
import { isHeldFor } from '../../payments/deposits/held-deposit.ts';
import {
  type Claim,
  type ClaimFate,
  claimsOfSettlement,
  lastReadBlock,
  readClaimFates,
  timeOf,
  tokenAddress,
} from './claim.ts';
import { endClaims, lockPayers, noteUnpaidWithin } from './end-claims.ts';
import { readWallets } from './funds.ts';
import { findSettlement, type Settlement, submitStep } from './open-settlement.ts';
import { settlementSaga } from './saga.ts';

/** Whether a payment of a delayed settlement can no longer move, so that submitting it would waste gas. */
async function hasChanged(network: Network, token: Hex, claims: readonly Claim[]): Promise<boolean> {
  const payments = claims.map(({ authorization: { from, nonce } }) => ({ payer: from, nonce }));
  const payers = [...new Set(payments.map(({ payer }) => payer))];
  const { balances, used } = await readWallets(network, token, payers, payments);
  const { timestamp } = await network.client.getBlock();
  const left = new Map(balances);
  return claims.some(({ authorization }, index) => {
    const { from, atomic } = authorization;
    const rest = (left.get(from) ?? 0n) - atomic;
    left.set(from, rest);
    return used[index] === true || rest < 0n || timestamp >= authorization.validBefore;
  });
}

/** How long to wait for a provider's answer before the request counts as unanswered. */
const quietSeconds = 30;

/** The provider never took this transaction, so it is not requested again. Its payments are checked anew. */
class GivenUp extends Error {
  override readonly name = 'GivenUp';
  readonly unansweredAt: string | null;

  constructor(unansweredAt: string | null) {
    super('a payment in the settlement can no longer move');
    this.unansweredAt = unansweredAt;
  }
}

async function giveUp(tx: Transaction, { id }: Settlement): Promise<void> {
  const { sagaId, step } = submitStep(id);
  const { quiet, unansweredAt } = onlyRow(
    await tx.query<{ quiet: boolean; unansweredAt: string | null }>(
      `SELECT coalesce(unanswered_at < clock_timestamp() - make_interval(secs => $3), true) AS quiet, unanswered_at::text
         FROM chain_steps WHERE saga_id = $1 AND step = $2 FOR UPDATE`,
      [sagaId, step, quietSeconds],
    ),
  );
  if (quiet) throw new GivenUp(unansweredAt);
}

/** Safe, because the provider has confirmed before that it did not take the transaction. */
function endIfGivenUp(error: unknown): StepEnd {
  if (!(error instanceof GivenUp)) throw error;
  return { state: 'failed', reason: error.message, gasCost: 0n, refusal: { unansweredAt: error.unansweredAt } };
}

export interface SettlingParts extends ChainStepParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly logger: Logger;
}

/** The wait before a payment is submitted again: longer if a transaction was already wasted on it. */
const againSeconds = { notTried: 5, tried: 30 } as const;

/** Polling interval while an arrival is held. */
const heldMs = 5_000;

export function settlementHandler(parts: SettlingParts): SagaHandler {
  return handleSaga(settlementSaga, (id) => findSettlement(parts.db, id), {
    submitting: (settlement) => submit(parts, settlement),
  });
}

async function submit(parts: SettlingParts, settlement: Settlement): Promise<SagaStep> {
  const network = requireNetwork(parts.networks, settlement.chain);
  const token = tokenAddress(network, settlement.asset);
  const readClaims = () => claimsOfSettlement(parts.db, settlement.id);
  const isOutdated = settlement.isStuck && (await hasChanged(network, token, await readClaims()));
  const progress = await takeStep(
    parts,
    submitStep(settlement.id),
    async (from) => ({
      from,
      contract: multicallAddress,
      data: encodeSubmission(
        token,
        (await readClaims()).map(({ authorization }) => authorization),
      ),
    }),
    isOutdated ? (tx) => giveUp(tx, settlement) : undefined,
  ).catch(endIfGivenUp);
  return progress.state === 'waiting' ? progress : settle(parts, network, settlement, progress);
}

/**
 * Our transaction has ended and the watcher has read its block, so arrivals are already matched with their payments. The other payments are
 * decided one by one, because in a multicall each may fail without the others.
 */
async function settle(parts: SettlingParts, network: Network, settlement: Settlement, end: StepEnd): Promise<SagaStep> {
  const { db, ledger, logger, checkpoint = noCheckpoint } = parts;
  const { id: settlementId, asset } = settlement;
  const block = await lastReadBlock(db, network);
  if (block === undefined) return { lookAgainInMs: network.pollMs, waitsFor: 'the chain to be read' };
  const missing = (await claimsOfSettlement(db, settlementId)).filter(({ arrivedAt }) => arrivedAt === null);
  if (await isHeldFor(db, network.id, missing.map(proofOf))) {
    return { lookAgainInMs: heldMs, waitsFor: 'a second node to show what has arrived' };
  }
  const fates = await readClaimFates(network, asset, missing, block);
  const triedAt = end.state === 'confirmed' ? await timeOf(network, end.blockNumber) : undefined;
  checkpoint('settlement.judged');
  await db.transaction(async (tx) => {
    const { rows } = await tx.query('SELECT FROM settlements WHERE id = $1 AND finished_at IS NULL FOR UPDATE', [
      settlementId,
    ]);
    if (rows.length === 0) return;
    const of = (...wanted: ClaimFate[]) => missing.filter((_, index) => wanted.includes(fates[index] ?? 'open'));
    await lockPayers(
      tx,
      missing.map(({ id }) => id),
    );
    const unmoved = of('open', 'lapsed');
    const tried = unmoved.filter(({ authorization }) => triedAt !== undefined && isValidAt(authorization, triedAt));
    await noteUnpaidWithin(tx, idsOf(tried), {
      settlementId,
      againInSeconds: againSeconds.tried,
      because: 'transaction_did_not_move_it',
    });
    const notShown = of('not_shown', 'never_shown');
    await noteUnpaidWithin(tx, idsOf([...unmoved, ...notShown]), {
      settlementId,
      againInSeconds: againSeconds.notTried,
    });
    const used = idsOf(of('used_elsewhere'));
    const lost = await endClaims(tx, [...used, ...idsOf(of('lapsed'))], { used });
    for (const { reference } of lost)
      logger.error({ reference }, 'a call was served and will not be paid: written off');
    await tx.query(
      `UPDATE settlements SET finished_at = clock_timestamp(), updated_at = clock_timestamp(), status = CASE WHEN EXISTS (
          SELECT FROM payment_claims WHERE settlement_id = $1 AND arrived_at IS NOT NULL) THEN 'complete' ELSE 'failed' END
        WHERE id = $1`,
      [settlementId],
    );
    const gas = (await settleStep(tx, submitStep(settlementId), end)) ?? [];
    await postOrThrow(tx, ledger, [...lost, ...gas]);
  });
  checkpoint('settlement.settled');
  if (end.state === 'failed')
    logger.warn({ settlement: settlementId, reason: end.reason }, 'payments were not settled');
  return 'rest';
}

function idsOf(claims: readonly Claim[]): string[] {
  return claims.map(({ id }) => id);
}

function proofOf({ token, authorization: { from, nonce } }: Claim): string {
  return authorizationProof(token, from, nonce);
}
