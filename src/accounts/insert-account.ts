import { orUnavailable } from '../custody/wallets/errors.ts';
import type { NewWallet, WalletProvider } from '../custody/wallets/provider.ts';
import { assignWallet } from '../custody/wallets/user-wallets.ts';
import { type Database, type Transaction, violates } from '../kernel/db/database.ts';
import { OutcomeUnknown } from '../kernel/db/errors.ts';
import { randomHandle } from '../kernel/ids/ids.ts';

export interface WalletSource extends Pick<WalletProvider, 'name' | 'createWallet'> {
  /** Returns an unused wallet. Providers whose wallets cost nothing do not need it. */
  giveBack?(wallet: NewWallet): Promise<void>;
}

/** Creates a wallet for the account that the work inserts in its transaction. If it inserts none, the wallet goes back. */
export async function withWallet<Result>(
  { db, wallets }: { readonly db: Database; readonly wallets: WalletSource },
  work: (tx: Transaction, wallet: NewWallet) => Promise<Result>,
): Promise<Result> {
  const wallet = await orUnavailable(wallets.createWallet({ chain: 'MATIC' }));
  const attempt = () => db.transaction((tx) => work(tx, wallet));
  const made = await attempt()
    // One in 36^8 handles is taken: the next one will be free.
    .catch((error: unknown) => {
      if (violates(error, 'accounts_handle_key')) return attempt();
      throw error;
    })
    // With an unknown outcome the account may exist and own the wallet, so the wallet must not be reused.
    .catch(async (error: unknown) => {
      if (!(error instanceof OutcomeUnknown)) await wallets.giveBack?.(wallet);
      throw error;
    });
  if (made === undefined) await wallets.giveBack?.(wallet);
  return made;
}

interface AccountToInsert {
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
