import type { NewWallet } from '../custody/wallets/provider.ts';
import { assignWallet } from '../custody/wallets/user-wallets.ts';
import type { Transaction } from '../kernel/db/database.ts';
import { randomHandle } from '../kernel/ids/ids.ts';

export interface AccountToInsert {
  readonly email: string;
  readonly name: string;
  readonly passwordHash: string;
  readonly wallet: NewWallet;
  readonly provider: string;
}

export interface InsertedAccount {
  readonly id: bigint;
  readonly handle: string;
  readonly walletId: string;
  readonly address: string;
}

/** Inserts an account and its wallet in the caller's transaction. Returns undefined when the email was just taken. */
export async function insertAccount(
  tx: Transaction,
  { email, name, passwordHash, wallet, provider }: AccountToInsert,
): Promise<InsertedAccount | undefined> {
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
