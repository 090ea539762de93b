import { orUnavailable } from '../../custody/wallets/or-unavailable.ts';
import type { NewWallet } from '../../custody/wallets/provider.ts';
import { type Database, onlyRow, type Transaction, violates } from '../../kernel/db/database.ts';
import { OutcomeUnknown } from '../../kernel/db/outcome-unknown.ts';
import { networksOf } from '../../kernel/http/client-address.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { lockOwner } from '../../ledger/lock-owner.ts';
import type { AccountChanges } from '../account-changes.ts';
import { recordAudit } from '../audit/record.ts';
import { yieldEmail } from '../emails/move-email.ts';
import { accountErrors } from '../errors.ts';
import { insertAccount } from '../insert-account.ts';
import { endMostKeys } from '../keys/end-most-keys.ts';
import type { OnKeysEnded } from '../keys/on-keys-ended.ts';
import type { WalletSource } from '../register.ts';
import { isTooCommon } from './common-passwords.ts';
import type { Passwords } from './passwords.ts';
import { findResetToken, type ResetToken, useResetToken } from './reset-token.ts';
import { type PasswordSet, setPassword } from './set-password.ts';

export interface ResetConfirmation {
  readonly token: string;
  readonly newPassword: string;
  readonly revokeKeys: boolean;
  readonly endWebhooks: boolean;
  /** Of a new account, if there is to be one. */
  readonly name: string | undefined;
  readonly ip: string;
}

export interface ResetConfirmed extends PasswordSet {
  readonly handle: string;
  readonly isNewAccount: boolean;
}

export interface ConfirmResetParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly passwords: Passwords;
  readonly changes: AccountChanges;
  readonly wallets: WalletSource;
  readonly onKeysEnded: OnKeysEnded;
}

interface Holder {
  readonly handle: string;
  readonly name: string;
  readonly email: string | null;
}

/** Sets a new password for whoever has had the mail. The token is looked at again when it is used: until then nothing is decided. */
export async function confirmReset(parts: ConfirmResetParts, confirmation: ResetConfirmation): Promise<ResetConfirmed> {
  const { db, secrets, passwords } = parts;
  const reset = await findResetToken(db, secrets, confirmation.token);
  if (reset === undefined) throw accountErrors.reset_token_invalid();
  const holder = await readHolder(db, reset.accountId);
  // Of an account that loses its email nothing is told to whoever gets it, not even that a password is its name.
  const own = reset.kind === 'reset' ? holder : { email: holder.email, name: confirmation.name };
  if (isTooCommon(confirmation.newPassword, own)) throw accountErrors.password_too_common();
  const passwordHash = await passwords.hash(confirmation.newPassword, networksOf(confirmation.ip).nearest);
  return reset.kind === 'reset'
    ? setAnew(parts, { ...confirmation, ...reset, passwordHash, handle: holder.handle })
    : claimWithWallet(parts, { ...confirmation, ...reset, passwordHash });
}

async function readHolder(db: Pick<Transaction, 'query'>, accountId: bigint): Promise<Holder> {
  return onlyRow(await db.query<Holder>('SELECT handle, name, email FROM accounts WHERE id = $1', [accountId]));
}

type Confirmed = ResetConfirmation & ResetToken & { readonly passwordHash: string };

async function setAnew(
  { db, secrets, changes, onKeysEnded }: ConfirmResetParts,
  { accountId, handle, passwordHash, revokeKeys, endWebhooks, ip, ...reset }: Confirmed & { readonly handle: string },
): Promise<ResetConfirmed> {
  const by = { address: ip };
  const endedBefore = revokeKeys ? await endMostKeys(db, { accountId, by }) : 0;
  return changes.everywhere(accountId, async (tx) => {
    // First, as whoever freezes an account does.
    if (revokeKeys) await lockOwner(tx, accountId);
    await lockAccount(tx, accountId);
    if (!(await useResetToken(tx, secrets, { accountId, ...reset }))) throw accountErrors.reset_token_invalid();
    const set = await setPassword(
      tx,
      { secrets, onKeysEnded },
      { accountId, passwordHash, action: 'password.reset', by, revokeKeys, endWebhooks },
    );
    return { ...set, revokedKeys: endedBefore + set.revokedKeys, handle, isNewAccount: false };
  });
}

async function claimWithWallet(parts: ConfirmResetParts, claim: Confirmed): Promise<ResetConfirmed> {
  const { db, wallets } = parts;
  const wallet = await orUnavailable(wallets.createWallet({ chain: 'MATIC' }));
  const attempt = () => db.transaction((tx) => claimEmail(tx, parts, { ...claim, wallet }));
  try {
    return await attempt().catch((error: unknown) => {
      // One in 36^8 handles: the next draw will be free.
      if (violates(error, 'accounts_handle_key')) return attempt();
      throw error;
    });
  } catch (error) {
    // Perhaps the account is there and has it: then the wallet is not to be given to anybody else.
    if (!(error instanceof OutcomeUnknown)) await wallets.giveBack?.(wallet);
    throw error;
  }
}

/** The email leaves the account that never proved it and becomes a new account's, in one commit. Everything else stays where it is. */
async function claimEmail(
  tx: Transaction,
  { secrets, wallets }: ConfirmResetParts,
  claim: Confirmed & { readonly wallet: NewWallet },
): Promise<ResetConfirmed> {
  const { accountId: before, wallet, passwordHash, ip } = claim;
  const by = { address: ip };
  await lockAccount(tx, before);
  // Whoever has verified the email in the meantime has ended this token.
  if (!(await useResetToken(tx, secrets, claim))) throw accountErrors.reset_token_invalid();
  const { email } = await readHolder(tx, before);
  // What was verified stays where it is, also if a token was left.
  if (!(await yieldEmail(tx, before, `to somebody at ${ip}`)) || email === null)
    throw accountErrors.reset_token_invalid();
  const name = claim.name ?? email.slice(0, email.indexOf('@'));
  const account = await insertAccount(tx, { email, name, passwordHash, wallet, provider: wallets.name });
  if (account === undefined) throw new Error('an email was free and taken in one commit');
  await tx.query('UPDATE accounts SET email_verified_at = now() WHERE id = $1', [account.id]);
  await recordAudit(tx, { accountId: account.id, action: 'account.registered', by });
  await recordAudit(tx, { accountId: account.id, action: 'email.verified', by });
  return { handle: account.handle, isNewAccount: true, revokedKeys: 0, keysLeft: 0, webhooks: [] };
}

async function lockAccount(tx: Transaction, accountId: bigint): Promise<void> {
  await tx.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
}
