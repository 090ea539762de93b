import type { Hex } from 'viem';
import { findReceipt } from '../../chains/find-receipt.ts';
import type { Network } from '../../chains/network.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { chains } from '../../money/catalogue.ts';
import type { Cursor } from './ask-chain.ts';
import { hashesOf } from './open-steps.ts';
import { amountText } from './reconcile-books.ts';

/** A user's native coin in a house wallet: a saga has unwrapped it, and its next step is not settled. */
export interface Unwrapped {
  readonly wallet: Hex;
  readonly atomic: bigint;
  /** The transactions that its next step may have become. */
  readonly hashes: readonly Hex[];
}

/** Read it at the same moment as the position. */
export async function readUnwrapped(tx: Transaction, { id: chain }: Network): Promise<readonly Unwrapped[]> {
  const { rows } = await tx.query<Unwrapped>(
    `SELECT lower(w.address) AS wallet, l.atomic, ARRAY(SELECT unnest(${hashesOf('o')}) FROM chain_steps o
              WHERE o.saga_id = u.saga_id AND o.settled_at IS NULL) AS hashes
       FROM chain_steps u JOIN chain_step_leaves l ON l.step_id = u.id AND l.asset = $2
       JOIN house_wallets w ON w.id = u.wallet_id
      WHERE u.chain = $1 AND u.step = 'unwrap' AND u.state = 'confirmed'
        AND EXISTS (SELECT FROM chain_steps o WHERE o.saga_id = u.saga_id AND o.settled_at IS NULL)`,
    [chain, chains[chain].native],
  );
  return rows;
}

/**
 * Native coin unwrapped for a withdrawal or a swap belongs to a user until it leaves. Each wallet must hold at least
 * that much; the operator's gas lies there as well.
 */
export async function reconcileUnwrapped(
  network: Network,
  { blockNumber }: Cursor,
  open: readonly Unwrapped[],
): Promise<string[]> {
  const { native } = chains[network.id];
  const text = (atomic: bigint) => amountText(native, atomic);
  const findings: string[] = [];
  const owed = new Map<Hex, bigint>();
  for (const { wallet, atomic, hashes } of open) {
    if (!(await hasLeft(network, hashes, blockNumber))) owed.set(wallet, (owed.get(wallet) ?? 0n) + atomic);
  }
  for (const [address, atomic] of owed) {
    const held = await network.client.getBalance({ address, blockNumber });
    if (held >= atomic) continue;
    findings.push(
      `${network.id}: house wallet ${address} holds ${text(held)} as native coin, but ${text(atomic)} was unwrapped there for users.`,
    );
  }
  return findings;
}

async function hasLeft({ client }: Network, hashes: readonly Hex[], blockNumber: bigint): Promise<boolean> {
  for (const hash of hashes) {
    const receipt = await findReceipt(client, hash);
    if (receipt?.status === 'success' && receipt.blockNumber <= blockNumber) return true;
  }
  return false;
}
