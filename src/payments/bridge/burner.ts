import { findHouseWalletById, type HouseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import type { Bridge } from './bridge.ts';

/** The house wallet that burns, as it was chosen when the bridge was opened; after a rotation it is a retired one. */
export async function findBurner(db: Queryable, { id, burnerId }: Bridge): Promise<HouseWallet> {
  const wallet = await findHouseWalletById(db, burnerId);
  if (wallet === undefined) throw new Error(`bridge ${id} has no wallet to burn from`);
  return wallet;
}
