import { balanceOf, promisedSince } from '../../custody/steps/serve-liquidity.ts';
import { type HouseWallet, houseWallet, listHouseWallets } from '../../custody/wallets/house-wallets.ts';
import { onlyRow, type Queryable, type Transaction } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import { homeChain } from '../../money/catalogue.ts';
import { meansOf, type PurchaseParts } from './parts.ts';

/** The balance of the wallet that pays sellers, and when it was read. Promises and payments since then are deducted. */
export interface Float {
  readonly wallet: HouseWallet;
  readonly held: bigint;
  readonly readAt: Date;
}

export async function readFloat({ db, networks }: Pick<PurchaseParts, 'db' | 'networks'>): Promise<Float> {
  const { network, token } = meansOf(networks);
  const wallet = await houseWallet(db, 'purchases', homeChain);
  const { now } = onlyRow(await db.query<{ now: Date }>('SELECT clock_timestamp() AS now'));
  return { wallet, held: await balanceOf(network, token, wallet), readAt: now };
}

/** The balance of wallets retired by a rotation. */
export async function readRetiredFloat({ db, networks }: Pick<PurchaseParts, 'db' | 'networks'>): Promise<bigint> {
  const { network, token } = meansOf(networks);
  let sum = 0n;
  for (const wallet of await listHouseWallets(db)) {
    if (wallet.retired && wallet.purpose === 'purchases') sum += await balanceOf(network, token, wallet);
  }
  return sum;
}

/** The part not promised to other purchases. */
export async function freeOf(db: Queryable, { wallet, held, readAt }: Float): Promise<bigint> {
  return held - (await promisedSince(db, wallet.id, 'USDC', readAt));
}

/** Locks the float until the commit, against double promises. Undefined when the wallet is being retired. */
export async function freeUntilCommit(tx: Transaction, float: Float): Promise<bigint | undefined> {
  await lockUntilCommit(tx, { kind: 'float', of: float.wallet.id });
  const { rows } = await tx.query('SELECT FROM house_wallets WHERE id = $1 AND retired_at IS NULL FOR SHARE', [
    float.wallet.id,
  ]);
  return rows.length === 0 ? undefined : freeOf(tx, float);
}
