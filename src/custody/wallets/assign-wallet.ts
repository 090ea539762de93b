import type { Transaction } from '../../kernel/db/database.ts';
import { newId } from '../../kernel/ids/ids.ts';
import type { ChainId } from '../../money/catalogue.ts';
import type { NewWallet } from './provider.ts';

/** Gives an account its wallet on a chain, in the commit that creates the account. */
export async function assignWallet(
  tx: Transaction,
  { accountId, chain, provider, wallet }: { accountId: bigint; chain: ChainId; provider: string; wallet: NewWallet },
): Promise<{ readonly walletId: string; readonly address: string }> {
  const walletId = newId('wal');
  await tx.query(
    'INSERT INTO wallets (id, account_id, chain, provider, provider_ref, address) VALUES ($1, $2, $3, $4, $5, $6)',
    [walletId, accountId, chain, provider, wallet.ref, wallet.address],
  );
  return { walletId, address: wallet.address };
}
