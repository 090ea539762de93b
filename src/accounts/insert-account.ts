import type { NewWallet, WalletProvider } from '../custody/wallets/provider.ts';
import { assignWallet } from '../custody/wallets/user-wallets.ts';
import type { Transaction } from '../kernel/db/database.ts';
import { randomHandle } from '../kernel/ids/ids.ts';

export interface WalletSource extends Pick<WalletProvider, 'name' | 'createWallet'> {
  /** Returns an unused wallet. Providers whose wallets cost nothing do not need it. */
  giveBack?(wallet: NewWallet): Promise<void>;
}

export interface AccountToInsert {
  readonly email: string;
  readonly name: string;
  readonly passwordHash: string;
  readonly wallet: NewWallet;
}

/** Inserts an account and its wallet in the caller's transaction. Returns undefined when the email was just taken. */
export async function insertAccount(
  tx: Transaction,
  provider: string,
  { email, name, passwordHash, wallet }: AccountToInsert,
) {
  const { rows } = await tx.query<{ id: bigint; handle: string }>(
    `INSERT INTO accounts (handle, email, name, password_hash) VALUES ($1, $2, $3, $4)
     ON CONFLICT ON CONSTRAINT accounts_email_key DO NOTHING RETURNING id, handle`,
    [randomHandle(), email, name, passwordHash],
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  const { id, handle } = row;
  return { id, handle, ...(await assignWallet(tx, { accountId: id, chain: 'MATIC', provider, wallet })) };
}
