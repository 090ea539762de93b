import { type Networks, tokenOf } from '../../chains/network.ts';
import { type Database, onlyRow, type Transaction } from '../../kernel/db/database.ts';
import { type HouseWallet, houseWallet } from '../wallets/house-wallets.ts';
import { balanceOf, isLiquidityNeeded, type Line, promisedSince, tryLockLine } from './serve-liquidity.ts';

/**
 * Offers the treasury's unpromised tokens to a caller that can use any amount. Steps in line come first. `plan` sets the tokens aside by
 * planning a step in the same commit.
 */
export async function takeSpare(
  { db, networks }: { readonly db: Database; readonly networks: Networks },
  line: Line,
  plan: (tx: Transaction, treasury: HouseWallet, spare: bigint) => Promise<void>,
): Promise<void> {
  const { chain, asset } = line;
  const network = networks.get(chain);
  const token = network && tokenOf(network, asset);
  if (network === undefined || token === undefined) return;
  const treasury = await houseWallet(db, 'treasury', chain);
  const { now } = onlyRow(await db.query<{ now: Date }>('SELECT clock_timestamp() AS now'));
  const held = await balanceOf(network, token, treasury);
  await db.transaction(async (tx) => {
    if (!(await tryLockLine(tx, line)) || (await isLiquidityNeeded(tx, chain, asset))) return;
    const { rows } = await tx.query('SELECT FROM house_wallets WHERE id = $1 AND retired_at IS NULL FOR SHARE', [
      treasury.id,
    ]);
    if (rows.length === 0) return;
    const spare = held - (await promisedSince(tx, treasury.id, asset, now));
    if (spare > 0n) await plan(tx, treasury, spare);
  });
}
