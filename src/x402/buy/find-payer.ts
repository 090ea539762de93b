import { findHouseWalletById, type HouseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import type { Purchase } from './purchase.ts';

/** The wallet chosen when the purchase was opened; after a rotation it is a retired one. */
export async function findPayer(
  db: Queryable,
  { id, walletId }: Pick<Purchase, 'id' | 'walletId'>,
): Promise<HouseWallet> {
  const wallet = await findHouseWalletById(db, walletId);
  if (wallet === undefined) throw new Error(`purchase ${id} is paid from a wallet that is not there`);
  return wallet;
}
