import { tokenAbi } from '../chains/abi.ts';
import { type Network, type Networks, type Token, tokenOf } from '../chains/network.ts';
import { type Database, onlyRow, type Transaction } from '../db/database.ts';
import { type HouseWallet, houseWallet } from '../wallets/house-wallets.ts';
import { ProviderError } from '../wallets/provider.ts';
import type { Withdrawal } from './withdrawal.ts';

export type Reservation = 'reserved' | 'not_enough' | 'frozen';

/**
 * Sets the treasury's tokens aside for a withdrawal, or finds that there are not enough yet. The chain is asked first, and
 * whatever has been promised or paid since then counts as gone: that errs on the side of waiting a moment.
 */
export async function reserveLiquidity(
  { db, networks }: { readonly db: Database; readonly networks: Networks },
  withdrawal: Withdrawal,
): Promise<Reservation> {
  const { chain, net } = withdrawal;
  const network = networks.get(chain);
  const token = network && tokenOf(network, net.asset);
  if (network === undefined || token === undefined) return 'not_enough';
  const treasury = await houseWallet(db, 'treasury', chain);
  const { now } = onlyRow(await db.query<{ now: Date }>('SELECT clock_timestamp() AS now'));
  const held = await balanceOf(network, token, treasury);
  return db.transaction(async (tx) => {
    if (!(await tryLock(tx, `liquidity ${chain} ${net.asset}`))) return 'not_enough';
    if (await isFrozen(tx, withdrawal)) return 'frozen';
    // A treasury that is being retired pays nothing more.
    const { rows } = await tx.query('SELECT FROM house_wallets WHERE id = $1 AND retired_at IS NULL FOR SHARE', [
      treasury.id,
    ]);
    if (rows.length === 0 || held - (await promisedSince(tx, withdrawal, treasury, now)) < net.atomic)
      return 'not_enough';
    await tx.query(
      `UPDATE withdrawals SET status = 'sending', house_wallet_id = $2, updated_at = now()
        WHERE id = $1 AND status = 'awaiting_liquidity'`,
      [withdrawal.id, treasury.id],
    );
    return 'reserved';
  });
}

async function balanceOf({ client }: Network, token: Token, { address }: HouseWallet): Promise<bigint> {
  try {
    return await client.readContract({
      address: token.address,
      abi: tokenAbi,
      functionName: 'balanceOf',
      args: [address],
    });
  } catch (cause) {
    throw new ProviderError('The chain does not answer.', { retryable: true, code: 'chain_unreachable', cause });
  }
}

/** One at a time per chain and asset, so that no token is set aside twice. Whoever comes second comes again. */
async function tryLock(tx: Transaction, name: string): Promise<boolean> {
  const { locked } = onlyRow(
    await tx.query<{ locked: boolean }>('SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS locked', [name]),
  );
  return locked;
}

async function isFrozen(tx: Transaction, { accountId, released }: Withdrawal): Promise<boolean> {
  if (accountId === null || released) return false;
  const { rows } = await tx.query('SELECT FROM accounts WHERE id = $1 AND frozen_at IS NOT NULL', [accountId]);
  return rows.length > 0;
}

/** What is under way from this wallet, and what has been finished since its balance was read: that may still be in it. */
async function promisedSince(
  tx: Transaction,
  { chain, net }: Withdrawal,
  treasury: HouseWallet,
  readAt: Date,
): Promise<bigint> {
  const { promised } = onlyRow(
    await tx.query<{ promised: string }>(
      `SELECT coalesce(sum(net), 0) AS promised FROM withdrawals
        WHERE chain = $1 AND asset = $2 AND house_wallet_id = $3
          AND ((status = 'sending' AND finished_at IS NULL)
            OR (status = 'complete' AND finished_at >= $4))`,
      [chain, net.asset, treasury.id, readAt],
    ),
  );
  return BigInt(promised);
}
