import { randomUUID } from 'node:crypto';
import { BaseError, type Hex } from 'viem';
import { z } from 'zod';
import { findReceipt } from '../../../chains/find-receipt.ts';
import type { Network, Networks } from '../../../chains/network.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/logger.ts';
import type { ChainId } from '../../../money/catalogue.ts';
import { feeLimitOf, ProviderError, type TransactionReport } from '../../wallets/provider.ts';
import { type CircleTransaction, transactionAnswer } from './answers.ts';
import type { CircleClient } from './circle-client.ts';
import { asRetryable } from './failures.ts';

export interface LookUpParts {
  readonly db: Database;
  readonly circle: CircleClient;
  readonly networks: Networks;
  readonly logger: Logger;
  /** How long a higher fee may take effect before it is raised again. */
  readonly patienceMs: number;
}

/** Asks Circle to raise the fee of a stuck transaction. Concurrent callers share one request. */
async function accelerate({ db, circle, logger, patienceMs }: LookUpParts, id: string): Promise<void> {
  const request = await nextRequest(db, id, patienceMs);
  if (request === undefined) return;
  const { round, idempotencyKey } = request;
  try {
    await circle.write(z.unknown(), (sdk) => sdk.accelerateTransaction({ id, idempotencyKey }));
    logger.info({ transactionId: id, round }, 'the fee of a stuck transaction was raised');
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    logger.warn({ transactionId: id, round, err: error }, 'raising the fee of a stuck transaction failed');
    // The next look-up sends the same request again.
    if (error.retryable) return;
  }
  await db.query('UPDATE circle_accelerations SET answered_at = now() WHERE transaction_id = $1 AND round = $2', [
    id,
    round,
  ]);
}

interface Acceleration {
  readonly round: number;
  readonly idempotencyKey: string;
}

/** The unanswered request, or a new one when the last one is old enough. */
async function nextRequest(db: Database, id: string, patienceMs: number): Promise<Acceleration | undefined> {
  await db.query(
    `INSERT INTO circle_accelerations (transaction_id, round, idempotency_key)
     SELECT $1, coalesce(max(round), 0) + 1, $2 FROM circle_accelerations WHERE transaction_id = $1
     HAVING coalesce(bool_and(answered_at IS NOT NULL AND asked_at <= now() - make_interval(secs => $3)), true)
        AND count(*) < $4
     ON CONFLICT DO NOTHING`,
    [id, randomUUID(), patienceMs / 1000, await feeLimitOf(db, id)],
  );
  const { rows } = await db.query<Acceleration>(
    `SELECT round, idempotency_key FROM circle_accelerations
      WHERE transaction_id = $1 AND answered_at IS NULL ORDER BY round DESC LIMIT 1`,
    [id],
  );
  return rows[0];
}

/** Every chain in the catalogue has a native coin with eighteen decimals. */
const decimals = 18;

const gweiDecimals = 9;

/**
 * Circle gives the gas cost as a decimal number of native coins. It is parsed digit by digit, never as a float.
 * Undefined when it is not such a number, or has too many decimals.
 */
export function parseNetworkFee(text: string | undefined): bigint | undefined {
  return parseDecimal(text, decimals);
}

function parseDecimal(text: string | undefined, places: number): bigint | undefined {
  const match = /^(\d{1,30})(?:\.(\d{1,60}))?$/.exec(text ?? '');
  if (match === null) return undefined;
  const [, whole = '', fraction = ''] = match;
  const digits = fraction.replace(/0+$/, '');
  if (digits.length > places) return undefined;
  return BigInt(whole + digits.padEnd(places, '0'));
}

const lookUpAnswer = z.object({ transaction: transactionAnswer });

/**
 * The state of a transaction. `COMPLETE` is Circle's word for final; `CONFIRMED` only means that it is in a block,
 * which a reorg may undo. Any error here says nothing about the transaction, so all are retryable.
 */
export async function lookUp(parts: LookUpParts, chain: ChainId, ref: string): Promise<TransactionReport> {
  try {
    const { transaction } = await parts.circle.read(lookUpAnswer, (sdk) => sdk.getTransaction({ id: ref }));
    return await report(parts, chain, transaction);
  } catch (error) {
    throw error instanceof ProviderError ? asRetryable(error) : error;
  }
}

async function report(parts: LookUpParts, chain: ChainId, transaction: CircleTransaction): Promise<TransactionReport> {
  const network = parts.networks.get(chain);
  switch (transaction.state) {
    case 'COMPLETE':
      return reportComplete(network, transaction);
    case 'FAILED':
    case 'DENIED':
    case 'CANCELLED':
      return reportFailed(parts, network, transaction);
    case 'STUCK':
      if (isDearest(network, transaction)) {
        return { ...pending(transaction), waitsFor: 'lower fees: FEE_CEILING_GWEI allows no more' };
      }
      await accelerate(parts, transaction.id);
      return pending(transaction);
    default:
      return pending(transaction);
  }
}

/** Whether it already offers our ceiling. Circle decides how much an acceleration adds. */
function isDearest(network: Network | undefined, { estimatedFee }: CircleTransaction): boolean {
  const offered = parseDecimal(estimatedFee?.maxFee, gweiDecimals);
  return network !== undefined && offered !== undefined && offered >= network.feeCeiling.maxFee;
}

function pending({ txHash }: CircleTransaction): Extract<TransactionReport, { state: 'pending' }> {
  return { state: 'pending', ...(txHash !== undefined && { hash: txHash }) };
}

async function reportComplete(
  network: Network | undefined,
  transaction: CircleTransaction,
): Promise<TransactionReport> {
  const { id, txHash: hash, blockHeight } = transaction;
  const gasCost = parseNetworkFee(transaction.networkFee);
  if (hash !== undefined && blockHeight !== undefined && gasCost !== undefined) {
    return { state: 'confirmed', hash, blockNumber: BigInt(blockHeight), gasCost };
  }
  // What Circle leaves out is read from the chain.
  if (hash === undefined || network === undefined) {
    throw new ProviderError(`Circle reports ${id} as complete, without its block or cost.`, {
      retryable: true,
      code: 'provider_trouble',
    });
  }
  const mined = await findMined(network, hash);
  if (mined === undefined) return pending(transaction);
  return { state: 'confirmed', hash, blockNumber: mined.blockNumber, gasCost: gasCost ?? mined.gasCost };
}

async function reportFailed(
  { logger }: LookUpParts,
  network: Network | undefined,
  transaction: CircleTransaction,
): Promise<TransactionReport> {
  const { id, state, txHash: hash, errorReason, errorDetails } = transaction;
  const mined = hash && network && (await findMined(network, hash).catch(() => undefined));
  // A transaction with a hash was signed and may have been sent: only its receipt proves that nothing was moved.
  if (hash !== undefined && mined === undefined) return pending(transaction);
  if (mined?.succeeded === true) {
    // The money has moved: giving it back would pay twice. The operator has to look at this.
    logger.error(
      { transactionId: id, state, hash },
      'Circle reports a transaction as failed that succeeded on the chain',
    );
    throw new ProviderError(`Circle reports ${id} as failed, but it succeeded on the chain.`, {
      retryable: true,
      code: 'provider_contradicts_chain',
      ...(hash !== undefined && { hash }),
      retryAfterMs: 60_000,
    });
  }
  return {
    state: 'failed',
    reason: [`Circle: ${state.toLowerCase()}`, errorReason, errorDetails].filter(Boolean).join(', ').slice(0, 300),
    ...(hash !== undefined && { hash }),
    gasCost: parseNetworkFee(transaction.networkFee) ?? mined?.gasCost ?? 0n,
  };
}

interface Mined {
  readonly succeeded: boolean;
  readonly blockNumber: bigint;
  readonly gasCost: bigint;
}

async function findMined({ client }: Network, hash: Hex): Promise<Mined | undefined> {
  const receipt = await findReceipt(client, hash).catch((error: unknown) => {
    const reason = error instanceof BaseError ? error.shortMessage : String(error);
    throw new ProviderError(`The chain does not answer: ${reason}`, { retryable: true, code: 'chain_unreachable' });
  });
  if (receipt === undefined) return undefined;
  // Rollups charge for Ethereum separately, in a field of their own.
  const { l1Fee } = receipt as { l1Fee?: string | bigint | null };
  return {
    succeeded: receipt.status === 'success',
    blockNumber: receipt.blockNumber,
    gasCost: receipt.gasUsed * receipt.effectiveGasPrice + BigInt(l1Fee ?? 0n),
  };
}
