import { balanceOf, promisedSince } from '../../custody/steps/serve-liquidity.ts';
import { type HouseWallet, houseWallet, listHouseWallets } from '../../custody/wallets/house-wallets.ts';
import { type Database, onlyRow, type Queryable, type Transaction } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import { homeChain } from '../../money/catalogue.ts';
import { meansOf, type PurchaseParts } from './parts.ts';

/** What the wallet that pays sellers holds, and when that was read: whatever was promised or paid since then counts as gone. */
export interface Float {
  readonly wallet: HouseWallet;
  readonly held: bigint;
  readonly readAt: Date;
}

export async function readFloat({
  db,
  networks,
}: Pick<PurchaseParts, 'networks'> & { readonly db: Database }): Promise<Float> {
  const { network, token } = meansOf(networks);
  const wallet = await houseWallet(db, 'purchases', homeChain);
  const { now } = onlyRow(await db.query<{ now: Date }>('SELECT clock_timestamp() AS now'));
  return { wallet, held: await balanceOf(network, token, wallet), readAt: now };
}

/** What wallets that paid sellers before a rotation still hold. */
export async function readRetiredFloat({
  db,
  networks,
}: Pick<PurchaseParts, 'networks'> & { readonly db: Database }): Promise<bigint> {
  const { network, token } = meansOf(networks);
  let sum = 0n;
  for (const wallet of await listHouseWallets(db)) {
    if (wallet.retired && wallet.purpose === 'purchases') sum += await balanceOf(network, token, wallet);
  }
  return sum;
}

/** What nobody was promised of it. */
export async function freeOf(db: Queryable, { wallet, held, readAt }: Float): Promise<bigint> {
  return held - (await promisedSince(db, wallet.id, 'USDC', readAt));
}

/** The same, for whoever promises some of it: until its commit nobody else does. Undefined when the wallet is being retired. */
export async function freeUntilCommit(tx: Transaction, float: Float): Promise<bigint | undefined> {
  await lockUntilCommit(tx, { kind: 'float', of: float.wallet.id });
  const { rows } = await tx.query('SELECT FROM house_wallets WHERE id = $1 AND retired_at IS NULL FOR SHARE', [
    float.wallet.id,
  ]);
  return rows.length === 0 ? undefined : freeOf(tx, float);
}
