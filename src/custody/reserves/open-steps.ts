import { type Hex, isAddressEqual } from 'viem';
import { readUsed } from '../../chains/authorization.ts';
import { findReceipt } from '../../chains/find-receipt.ts';
import type { Network, Token } from '../../chains/network.ts';
import { transferIn, unwrappedIn } from '../../chains/token-transfer.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { inParallel } from '../../kernel/in-parallel.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';

/**
 * A step that is not settled in the books, what it takes from its wallet, and the transactions that may have taken it.
 */
export interface OpenStep {
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly wallet: Hex;
  readonly atomic: bigint;
  readonly hashes: readonly Hex[];
  /** Only for a signed authorization: someone else submits it, and only the token knows whether it was used. */
  readonly nonce: Hex | null;
}

/**
 * Every open step that takes tokens from us. A transaction of our own keys has a hash per signature; other providers
 * report one.
 */
export async function readOpenSteps(tx: Queryable): Promise<OpenStep[]> {
  const { rows } = await tx.query<OpenStep>(
    `SELECT s.chain, l.asset, lower(w.address) AS wallet, l.atomic, l.authorization_nonce AS nonce, ${hashesOf('s')} AS hashes
       FROM chain_steps s JOIN chain_step_leaves l ON l.step_id = s.id AND NOT l.stays
       JOIN house_wallets w ON w.id = s.wallet_id
      WHERE s.settled_at IS NULL AND s.asked_at IS NOT NULL`,
  );
  return rows;
}

/** SQL: every transaction that a step may have become. */
export function hashesOf(step: string): string {
  return `ARRAY(SELECT a.hash FROM key_transaction_attempts a WHERE a.transaction_id = ${step}.id
                UNION SELECT unnest(${step}.hashes) UNION SELECT ${step}.hash WHERE ${step}.hash IS NOT NULL)`;
}

/** SQL: a reorg has permanently undone a confirmed step, so that what it would have brought never arrives. */
export function isUndone(step: string): string {
  return `EXISTS (SELECT FROM chain_step_arrivals e WHERE e.step_id = ${step}.id AND e.ended_at IS NOT NULL)`;
}

const receiptsAtOnce = 8;

/** What these steps had taken from our wallets at a block. */
export async function readTaken(
  network: Network,
  token: Token,
  steps: readonly OpenStep[],
  blockNumber: bigint,
): Promise<bigint> {
  const sent = steps.filter(({ nonce }) => nonce === null);
  const taken = await inParallel(sent, receiptsAtOnce, async ({ wallet, hashes }) => {
    for (const hash of hashes) {
      const receipt = await findReceipt(network.client, hash);
      if (receipt === undefined || receipt.blockNumber > blockNumber || receipt.status !== 'success') continue;
      return takenIn(receipt.logs, token, wallet);
    }
    return 0n;
  });
  return (await readAuthorized(network, token, steps, blockNumber)) + taken.reduce((sum, atomic) => sum + atomic, 0n);
}

const noncesAtOnce = 500;

/** A signed authorization is spent once the token has used its nonce, in whichever transaction. */
async function readAuthorized(
  network: Network,
  token: Token,
  steps: readonly OpenStep[],
  blockNumber: bigint,
): Promise<bigint> {
  const signed = steps.flatMap(({ wallet: from, nonce, atomic }) => (nonce === null ? [] : [{ from, nonce, atomic }]));
  let sum = 0n;
  for (let first = 0; first < signed.length; first += noncesAtOnce) {
    const some = signed.slice(first, first + noncesAtOnce);
    const used = await readUsed(network, token.address, some, blockNumber);
    for (const [index, { atomic }] of some.entries()) if (used[index] === true) sum += atomic;
  }
  return sum;
}

/** How much of a token a transaction took from a wallet, including unwrapped coin. */
export function takenIn(logs: readonly Parameters<typeof transferIn>[0][], token: Token, wallet: Hex): bigint {
  let sum = 0n;
  for (const log of logs) {
    const taken = transferIn(log, token) ?? unwrappedIn(log, token);
    if (taken !== undefined && isAddressEqual(taken.from, wallet)) sum += taken.atomic;
  }
  return sum;
}
