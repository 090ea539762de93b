import type { Hex } from 'viem';
import type { Network } from '../../../chains/network.ts';
import { ProviderError } from '../../wallets/provider.ts';
import { findSent } from './find-sent.ts';
import type { FollowParts } from './follow.ts';
import { type ChainIsAhead, lastBlockBefore, lockNonces } from './outbox.ts';
import { keepUnknown } from './unknown-book.ts';

/** Nonces per commit: a long gap is closed in pieces and survives an interruption. */
const atOnce = 20;

/** The nonces that the chain has used, including pending transactions. */
export function countUsed({ client }: Network, sender: Hex): Promise<number> {
  return client.getTransactionCount({ address: sender, blockTag: 'pending' });
}

/**
 * Raises a wallet's next nonce to the chain's, and records the transactions that this database does not know. Only
 * final ones count: a nonce that a reorg frees would leave a gap that blocks all later ones. A lying node could cause
 * such a gap too, so a node's count is not believed: only a transaction signed by our own key proves that its nonce,
 * and all before it, were used.
 */
export async function catchUp(
  { db, logger }: Pick<FollowParts, 'db' | 'logger'>,
  network: Network,
  sender: Hex,
  { from, to }: Pick<ChainIsAhead, 'from' | 'to'>,
): Promise<void> {
  const { id: chain, client, confirmations } = network;
  const head = await client.getBlockNumber({ cacheTime: 0 });
  const until = head - BigInt(confirmations) + 1n;
  const final = await client.getTransactionCount({ address: sender, blockNumber: until < 0n ? 0n : until });
  if (final < to) throw chainIsAhead('it is not final yet');
  for (let first = from; first < to; ) {
    const since = await lastBlockBefore(db, chain, sender, first);
    const found = await findSent(network, { sender, from: first, to: Math.min(to, first + atOnce), since, until });
    if (found.size === 0) throw chainIsAhead(`no node in RPC_URLS_${chain} knows the transaction with nonce ${first}`);
    const last = Math.max(...found.keys()) + 1;
    await db.transaction(async (tx) => {
      // A concurrent catch-up may have come as far or further.
      if ((await lockNonces(tx, chain, sender)) !== first) return;
      for (let nonce = first; nonce < last; nonce++) await keepUnknown(tx, { chain, sender, nonce }, found.get(nonce));
      await tx.query('UPDATE key_nonces SET next = $3 WHERE chain = $1 AND sender = $2', [chain, sender, last]);
    });
    first = last;
  }
  logger.error(
    { chain, sender, from, to },
    'a wallet has sent transactions that are not in this database, which must come from a backup: see "paywright treasury unknown"',
  );
}

function chainIsAhead(why: string): ProviderError {
  return new ProviderError(`The wallet has sent a transaction that is not in this database, and ${why}.`, {
    retryable: true,
    code: 'chain_is_ahead',
    retryAfterMs: 10_000,
  });
}
