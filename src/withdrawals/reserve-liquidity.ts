import { tokenAbi } from '../chains/abi.ts';
import { type Networks, tokenOf } from '../chains/network.ts';
import { type Database, onlyRow } from '../db/database.ts';
import { houseWallet } from '../wallets/house-wallets.ts';
import type { Withdrawal } from './withdrawal.ts';

/**
 * Sets the treasury's tokens aside for a withdrawal, or finds that there are not enough yet. What other withdrawals have
 * set aside counts as gone even when it has left the chain already: that errs on the side of waiting a moment.
 */
export async function reserveLiquidity(
  { db, networks }: { readonly db: Database; readonly networks: Networks },
  { id, accountId, chain, net }: Withdrawal,
): Promise<'reserved' | 'not_enough' | 'frozen'> {
  const network = networks.get(chain);
  const token = network && tokenOf(network, net.asset);
  if (network === undefined || token === undefined) return 'not_enough';
  return db.transaction(async (tx) => {
    // One at a time per chain and asset, so that no token is set aside twice.
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`liquidity ${chain} ${net.asset}`]);
    if (accountId !== null) {
      const { frozen } = onlyRow(
        await tx.query<{ frozen: boolean }>('SELECT frozen_at IS NOT NULL AS frozen FROM accounts WHERE id = $1', [
          accountId,
        ]),
      );
      if (frozen) return 'frozen';
    }
    const treasury = await houseWallet(tx, 'treasury', chain);
    const { promised } = onlyRow(
      await tx.query<{ promised: string }>(
        `SELECT coalesce(sum(net), 0) AS promised FROM withdrawals
          WHERE chain = $1 AND asset = $2 AND status = 'sending' AND finished_at IS NULL AND house_wallet_id = $3`,
        [chain, net.asset, treasury.id],
      ),
    );
    const held = await network.client.readContract({
      address: token.address,
      abi: tokenAbi,
      functionName: 'balanceOf',
      args: [treasury.address],
    });
    if (held - BigInt(promised) < net.atomic) return 'not_enough';
    await tx.query(
      `UPDATE withdrawals SET status = 'sending', house_wallet_id = $2, updated_at = now()
        WHERE id = $1 AND status = 'awaiting_liquidity'`,
      [id, treasury.id],
    );
    return 'reserved';
  });
}
