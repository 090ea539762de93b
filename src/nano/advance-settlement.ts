import type { Hex } from 'viem';
import type { ChainStepParts } from '../chain-steps/parts.ts';
import { authorizationProof } from '../chain-steps/receipt-proofs.ts';
import { settleStep } from '../chain-steps/settle-step.ts';
import { type StepEnd, takeStep } from '../chain-steps/take-step.ts';
import { multicallAddress } from '../chains/abi.ts';
import { encodeSubmission, type Fate, judge, readUsed } from '../chains/authorization.ts';
import { type Network, tokenOf } from '../chains/network.ts';
import { noCheckpoint } from '../checkpoint.ts';
import type { Database, Transaction } from '../db/database.ts';
import { findCursor } from '../deposits/chain-cursor.ts';
import { isHeldFor } from '../deposits/held-deposit.ts';
import { isOnChain } from '../deposits/reorganisation.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { postSurely } from '../ledger/post-surely.ts';
import type { Logger } from '../logger.ts';
import { handleSaga, type SagaHandler, type SagaStep } from '../sagas/run-saga.ts';
import type { Claim } from './claim.ts';
import { endClaims, lockPayers } from './end-claims.ts';
import { settlementSaga } from './saga.ts';
import { findSettlement, type Settlement, submitStep } from './settlement.ts';

export interface SettlingParts extends ChainStepParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly logger: Logger;
}

/** A payment that did not move is tried again: soon at first, because somebody may just have filled the wallet, then rarely. */
const retrySeconds = { first: 15, most: 120 };

/** How often to look again while something that has arrived is held. */
const heldMs = 5_000;

export function settlementHandler(parts: SettlingParts): SagaHandler {
  return handleSaga(settlementSaga, (id) => findSettlement(parts.db, id), {
    submitting: (settlement) => submit(parts, settlement),
  });
}

async function submit(parts: SettlingParts, settlement: Settlement): Promise<SagaStep> {
  const network = networkOf(parts, settlement);
  const token = tokenAddress(network, settlement);
  const progress = await takeStep(parts, submitStep(settlement.id), (from) => ({
    from,
    contract: multicallAddress,
    data: encodeSubmission(
      token,
      settlement.claims.map(({ authorization }) => authorization),
    ),
  }));
  return progress.state === 'waiting' ? progress : settle(parts, network, settlement, progress);
}

/**
 * Our transaction has ended, and the chain was read that far: what it has brought is matched with its payments already, whoever
 * submitted them. Of the others each is judged by itself, because one that fails takes no other with it. Unlike our own
 * wallets a payer can cancel an authorization, so one that is used and has not arrived never will.
 */
async function settle(parts: SettlingParts, network: Network, settlement: Settlement, end: StepEnd): Promise<SagaStep> {
  const { db, ledger, logger, checkpoint = noCheckpoint } = parts;
  const cursor = await findCursor(db, network.id);
  if (cursor === undefined || !(await isOnChain(network.client, cursor))) {
    return { lookAgainInMs: network.pollMs, waitsFor: 'the chain to be read' };
  }
  const missing = settlement.claims.filter(({ arrivedAt }) => arrivedAt === null);
  if (await isHeldFor(db, network.id, missing.map(proofOf))) {
    return { lookAgainInMs: heldMs, waitsFor: 'a second node to show what has arrived' };
  }
  const fates = await judgeAll(network, settlement, missing, cursor.number);
  checkpoint('settlement.judged');
  await db.transaction(async (tx) => {
    const { rows } = await tx.query('SELECT FROM settlements WHERE id = $1 AND finished_at IS NULL FOR UPDATE', [
      settlement.id,
    ]);
    if (rows.length === 0) return;
    const of = (...wanted: Fate[]) => missing.filter((_, index) => wanted.includes(fates[index] ?? 'open'));
    const lost = await endClaims(
      tx,
      of('moved', 'lapsed').map(({ id }) => id),
    );
    for (const { reference } of lost)
      logger.error({ reference }, 'a call was served and will not be paid: written off');
    await waitAndTryAgain(tx, of('open'), { wasTried: end.state === 'confirmed' });
    await tx.query(
      `UPDATE settlements SET finished_at = clock_timestamp(), updated_at = clock_timestamp(), status = CASE WHEN EXISTS (
          SELECT FROM payment_claims WHERE settlement_id = $1 AND arrived_at IS NOT NULL) THEN 'complete' ELSE 'failed' END
        WHERE id = $1`,
      [settlement.id],
    );
    const gas = (await settleStep(tx, submitStep(settlement.id), end)) ?? [];
    await postSurely(tx, ledger, [...lost, ...gas]);
  });
  checkpoint('settlement.settled');
  if (end.state === 'failed')
    logger.warn({ settlement: settlement.id, reason: end.reason }, 'payments were not settled');
  return 'rest';
}

/** What the receipt of its arrival proves. */
function proofOf({ token, authorization: { from, nonce } }: Claim): string {
  return authorizationProof(token, from, nonce);
}

async function judgeAll(
  network: Network,
  settlement: Settlement,
  claims: readonly Claim[],
  blockNumber: bigint,
): Promise<readonly Fate[]> {
  if (claims.length === 0) return [];
  const authorizations = claims.map(({ authorization }) => authorization);
  const [{ timestamp: blockTime }, used] = await Promise.all([
    network.client.getBlock({ blockNumber }),
    readUsed(network, tokenAddress(network, settlement), authorizations, blockNumber),
  ]);
  return authorizations.map((one, index) => judge(one, { used: used[index] === true, blockTime }));
}

/** They wait for the next settlement. Of a payer whose payment was tried and did not move, no other is taken meanwhile. */
async function waitAndTryAgain(
  tx: Transaction,
  claims: readonly Claim[],
  { wasTried }: { readonly wasTried: boolean },
): Promise<void> {
  const ids = claims.map(({ id }) => id);
  if (ids.length === 0) return;
  await lockPayers(tx, ids);
  const { rows } = await tx.query<{ id: string }>(
    `UPDATE payment_claims SET settlement_id = NULL,
        retry_at = clock_timestamp() + make_interval(secs => least($2 * 2 ^ least(attempts - 1, 10), $3))
      WHERE id = ANY ($1) AND arrived_at IS NULL RETURNING id`,
    [ids, retrySeconds.first, retrySeconds.most],
  );
  if (!wasTried) return;
  await tx.query(
    `UPDATE payers p SET failed_since = coalesce(failed_since, clock_timestamp())
      WHERE (p.chain, p.token, p.address) IN (SELECT c.chain, c.token, c.payer FROM payment_claims c WHERE c.id = ANY ($1))`,
    [rows.map(({ id }) => id)],
  );
}

function networkOf({ networks }: SettlingParts, { id, chain }: Settlement): Network {
  const network = networks.get(chain);
  if (network === undefined) throw new Error(`settlement ${id} is on ${chain}, which is off`);
  return network;
}

function tokenAddress(network: Network, { id, asset }: Settlement): Hex {
  const token = tokenOf(network, asset);
  if (token === undefined) throw new Error(`settlement ${id} is of ${asset}, which is not held on ${network.id}`);
  return token.address;
}
