import { type Hex, isAddressEqual, type TransactionReceipt } from 'viem';
import { doNodesAgree, findReceipt, isUndone } from '../../../chains/find-receipt.ts';
import { FeesAboveCeiling, type GasFees, smaller } from '../../../chains/gas-fee-ceiling.ts';
import type { Network } from '../../../chains/network.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/logger.ts';
import { type ChainFacts, chains } from '../../../money/catalogue.ts';
import { feeLimitOf, type TransactionReport } from '../../wallets/provider.ts';
import { findSent } from './find-sent.ts';
import { bumpFees, suggestFees } from './gas-fees.ts';
import type { KeyTransaction } from './key-transaction.ts';
import {
  type Attempt,
  findByNonce,
  insertAttempt,
  lastBlockBefore,
  listAttempts,
  settle,
  signReplacement,
} from './outbox.ts';
import { isAlreadyKnown } from './rpc-errors.ts';
import type { Seeds } from './seeds.ts';

export interface FollowParts {
  readonly db: Database;
  readonly seeds: Seeds;
  readonly logger: Logger;
  /** How long a transaction may wait before a replacement with a higher fee. */
  readonly stuckAfterMs: number;
}

/**
 * Checks a transaction and drives it on: mined with enough confirmations is final, an unknown one is sent again, and a
 * stuck one is replaced. A transaction never counts as lost: only a receipt ends it.
 */
export async function followTransaction(
  parts: FollowParts,
  network: Network,
  transaction: KeyTransaction,
): Promise<TransactionReport> {
  if (transaction.state !== 'pending') return finalReport(transaction);
  const attempts = await listAttempts(parts.db, transaction.id);
  const mined = await findMined(network, attempts);
  if (mined !== undefined) return reportMined(parts, network, transaction, mined);
  const [newest] = attempts;
  if (newest === undefined) throw new Error(`transaction ${transaction.id} was never signed`);
  const came = await pushOn(parts, network, transaction, attempts, newest);
  if (typeof came === 'object') return reportMined(parts, network, transaction, came);
  return { state: 'pending', hash: newest.hash, ...(came !== undefined && { waitsFor: came }) };
}

interface Mined {
  readonly attempt: Attempt;
  readonly receipt: TransactionReceipt;
}

async function findMined(network: Network, attempts: readonly Attempt[]): Promise<Mined | undefined> {
  for (const attempt of attempts) {
    const receipt = await findReceipt(network.client, attempt.hash);
    if (receipt !== undefined) return { attempt, receipt };
  }
  return undefined;
}

async function reportMined(
  { db }: FollowParts,
  network: Network,
  transaction: KeyTransaction,
  { attempt, receipt }: Mined,
): Promise<TransactionReport> {
  const { transactionHash: hash, blockNumber } = receipt;
  // Its own block is the first confirmation: if one is enough, the head need not be asked.
  const confirmed = network.confirmations <= 1 ? 1n : (await network.client.getBlockNumber()) - blockNumber + 1n;
  if (confirmed < BigInt(network.confirmations)) return { state: 'pending', hash };
  const gasCost = costOf(network, transaction, attempt, receipt);
  const succeeded = receipt.status === 'success';
  // A reverted payment is given back, so more than one node must confirm the revert.
  if (!succeeded && !(await doNodesAgree(network, isUndone(hash)))) return { state: 'pending', hash };
  const reason = succeeded ? null : 'The contract reverted the transaction.';
  await settle(db, transaction.id, { state: succeeded ? 'confirmed' : 'failed', hash, blockNumber, gasCost, reason });
  if (reason !== null) return { state: 'failed', reason, hash, gasCost };
  return { state: 'confirmed', hash, blockNumber, gasCost };
}

function finalReport({ state, minedHash: hash, blockNumber, gasCost, reason }: KeyTransaction): TransactionReport {
  if (state === 'failed' && hash === null) return { state, reason: reason ?? 'It was refused.', gasCost: 0n };
  if (hash === null || blockNumber === null || gasCost === null)
    throw new Error('a settled transaction has no receipt');
  if (state === 'failed') return { state, reason: reason ?? 'It failed.', hash, gasCost };
  return { state: 'confirmed', hash, blockNumber, gasCost };
}

/**
 * No attempt is mined. If the nonce is next, the transaction is sent again, or replaced once it is stuck. If earlier
 * nonces are missing, the transaction with the next one is sent again as well, because its owner may believe it mined.
 * Returns what it waits for beyond the next block, or the receipt found after all.
 */
async function pushOn(
  parts: FollowParts,
  network: Network,
  transaction: KeyTransaction,
  attempts: readonly Attempt[],
  newest: Attempt,
): Promise<string | Mined | undefined> {
  const { db, logger, stuckAfterMs } = parts;
  const { id, chain, sender, nonce } = transaction;
  if (nonce === null) throw new Error(`transaction ${id} was refused`);
  const turn = await network.client.getTransactionCount({ address: sender, blockTag: 'latest' });
  if (turn > nonce) {
    // It may have been mined meanwhile, or replaced by another process.
    const mined = await findMined(network, await listAttempts(db, id));
    if (mined !== undefined) return mined;
    if (newest.ageMs >= stuckAfterMs && (await adoptReplacement(parts, network, transaction))) return undefined;
    // A lagging node looks the same, so nothing is decided here.
    logger.error(
      { chain, sender, nonce },
      'a nonce was used by a transaction that is not ours: the operator has to look into it',
    );
    return 'the operator: its nonce was used by a transaction that is not ours';
  }
  let waitsFor: string | undefined;
  if (turn < nonce) {
    const first = await findByNonce(db, chain, sender, turn);
    if (first === undefined) logger.error({ chain, sender, nonce: turn }, 'no transaction of ours has the next nonce');
    else await broadcast(network, first.raw, logger);
  } else if (newest.ageMs >= stuckAfterMs) {
    const tried = attempts.length;
    if (tried < (await feeLimitOf(db, id))) {
      waitsFor = await replace(parts, network, transaction, newest);
      if (waitsFor === undefined) return undefined;
    } else waitsFor = `the operator: ${tried} fees were tried; "paywright treasury raise-fee" allows more`;
  }
  await broadcast(network, newest.raw, logger);
  return waitsFor;
}

/**
 * A replacement was mined that was signed after the backup from which this database was restored. It does the same
 * under the same nonce, so its receipt decides.
 */
async function adoptReplacement(
  { db, logger }: FollowParts,
  network: Network,
  { id, chain, sender, nonce, to, data, value }: KeyTransaction,
): Promise<boolean> {
  if (nonce === null) return false;
  const since = await lastBlockBefore(db, chain, sender, nonce);
  const until = await network.client.getBlockNumber({ cacheTime: 0 });
  const sent = (await findSent(network, { sender, from: nonce, to: nonce + 1, since, until })).get(nonce);
  if (sent === undefined || !isAddressEqual(sent.to, to) || sent.data !== data || sent.value !== value) return false;
  await insertAttempt(db, id, sent);
  logger.warn(
    { chain, sender, nonce, hash: sent.hash },
    'a transaction was replaced by one that is not in this database',
  );
  return true;
}

/** Undefined once a replacement was sent; otherwise what that waits for. */
async function replace(
  { db, seeds, logger }: FollowParts,
  network: Network,
  transaction: KeyTransaction,
  newest: Attempt,
): Promise<string | undefined> {
  const fees = await feesOfReplacement(network, newest);
  if (fees instanceof FeesAboveCeiling) return `lower fees: ${fees.message}`;
  const account = await seeds.account(transaction.walletRef);
  await signReplacement(db, transaction, { account, fees, insteadOf: newest.hash });
  logger.warn({ chain: network.id, nonce: transaction.nonce }, 'a stuck transaction is sent again with a higher fee');
  const [replacement] = await listAttempts(db, transaction.id);
  if (replacement !== undefined) await broadcast(network, replacement.raw, logger);
  return undefined;
}

async function feesOfReplacement(network: Network, newest: Attempt): Promise<GasFees | FeesAboveCeiling> {
  const { id, feeCeiling } = network;
  try {
    const fees = bumpFees(newest, await suggestFees(network), feeCeiling);
    return (
      fees ??
      new FeesAboveCeiling(`a higher fee on ${id} would be above FEE_CEILING_GWEI or the highest tip for the chain`)
    );
  } catch (error) {
    if (error instanceof FeesAboveCeiling) return error;
    throw error;
  }
}

/**
 * Sending a known transaction again does no harm. Other refusals are logged for the operator; the next look-up tries
 * again.
 */
export async function broadcast(network: Network, raw: Hex, logger: Logger): Promise<void> {
  try {
    await network.client.sendRawTransaction({ serializedTransaction: raw });
  } catch (error) {
    if (!isAlreadyKnown(error)) logger.warn({ err: error, chain: network.id }, 'a node refused a transaction');
  }
}

/**
 * The cost according to the receipt, capped at what the transaction offered: a user's wallet gets its gas refilled, so
 * an overstated cost would empty the gas wallet.
 */
function costOf(
  network: Network,
  { gasLimit }: KeyTransaction,
  { maxFee }: Attempt,
  receipt: TransactionReceipt,
): bigint {
  const gasUsed = gasLimit === null ? receipt.gasUsed : smaller(receipt.gasUsed, gasLimit);
  return gasUsed * smaller(receipt.effectiveGasPrice, maxFee) + l1FeeOf(network, receipt);
}

/**
 * Optimism and Base also charge for Ethereum, in a separate field of the receipt. Transactions offer no price for it,
 * so it is capped at the most that a transaction of ours may cost.
 */
function l1FeeOf({ id, feeCeiling }: Network, { l1Fee }: TransactionReceipt & { readonly l1Fee?: unknown }): bigint {
  const facts: ChainFacts = chains[id];
  if (facts.rollup === undefined || (typeof l1Fee !== 'string' && typeof l1Fee !== 'bigint')) return 0n;
  return smaller(BigInt(l1Fee), feeCeiling.gasLimit * feeCeiling.maxFee);
}
