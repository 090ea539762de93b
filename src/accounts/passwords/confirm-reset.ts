import type { NewWallet } from '../../custody/wallets/provider.ts';
import { onlyRow, type Transaction } from '../../kernel/db/database.ts';
import { networksOf } from '../../kernel/http/client-address.ts';
import { lockOwner } from '../../ledger/require-live-key.ts';
import { recordAudit } from '../audit/record.ts';
import { removeUnverifiedEmail } from '../emails/move-email.ts';
import { accountErrors } from '../errors.ts';
import { insertAccount, withWallet } from '../insert-account.ts';
import { revokeMostKeys } from '../keys/revoke-keys.ts';
import type { AccountParts } from '../parts.ts';
import { type PasswordSet, setPassword } from './change-password.ts';
import { isTooCommon } from './common-passwords.ts';
import { findResetToken, type ResetToken, useResetToken } from './reset-token.ts';

interface ResetConfirmation {
  readonly token: string;
  readonly newPassword: string;
  readonly revokeKeys: boolean;
  readonly endWebhooks: boolean;
  /** The name of the new account, if one is created. */
  readonly name?: string | undefined;
  readonly ip: string;
}

interface ResetConfirmed extends PasswordSet {
  readonly handle: string;
  readonly isNewAccount: boolean;
}

interface Holder {
  readonly handle: string;
  readonly name: string;
  readonly email: string | null;
}

/** Sets a new password with a mailed token. The token is checked again in the transaction that uses it. */
export async function confirmReset(parts: AccountParts, confirmation: ResetConfirmation): Promise<ResetConfirmed> {
  const { db, secrets, passwords } = parts;
  const reset = await findResetToken(db, secrets, confirmation.token);
  if (reset === undefined) throw accountErrors.reset_token_invalid();
  const holder = await readHolder(db, reset.accountId);
  // A claim reveals nothing about the account that loses its email, not even that the password equals its name.
  const own = reset.kind === 'reset' ? holder : { email: holder.email, name: confirmation.name };
  if (isTooCommon(confirmation.newPassword, own)) throw accountErrors.password_too_common();
  const passwordHash = await passwords.hash(confirmation.newPassword, networksOf(confirmation.ip).nearest);
  return reset.kind === 'reset'
    ? setAnew(parts, { ...confirmation, ...reset, passwordHash, handle: holder.handle })
    : withWallet(parts, (tx, wallet) => claimEmail(tx, parts, { ...confirmation, ...reset, passwordHash, wallet }));
}

async function readHolder(db: Pick<Transaction, 'query'>, accountId: bigint): Promise<Holder> {
  return onlyRow(await db.query<Holder>('SELECT handle, name, email FROM accounts WHERE id = $1', [accountId]));
}

type Confirmed = ResetConfirmation & ResetToken & { readonly passwordHash: string };

async function setAnew(
  parts: AccountParts,
  { accountId, handle, passwordHash, revokeKeys, endWebhooks, ip, ...reset }: Confirmed & { readonly handle: string },
): Promise<ResetConfirmed> {
  const { db, secrets, changes } = parts;
  const by = { address: ip };
  const endedBefore = revokeKeys ? await revokeMostKeys(db, { accountId, by }) : 0;
  return changes.everywhere(accountId, async (tx) => {
    // Locked first, in the same order as a freeze.
    if (revokeKeys) await lockOwner(tx, accountId);
    await lockAccount(tx, accountId);
    if (!(await useResetToken(tx, secrets, { accountId, ...reset }))) throw accountErrors.reset_token_invalid();
    const password = { accountId, passwordHash, action: 'password.reset', by, revokeKeys, endWebhooks } as const;
    const set = await setPassword(tx, parts, password);
    return { ...set, revokedKeys: endedBefore + set.revokedKeys, handle, isNewAccount: false };
  });
}

/** Moves an unverified email to a new account in one commit. The old account keeps everything else. */
async function claimEmail(
  tx: Transaction,
  { secrets, wallets }: AccountParts,
  claim: Confirmed & { readonly wallet: NewWallet },
): Promise<ResetConfirmed> {
  const { accountId: before, wallet, passwordHash, ip } = claim;
  const by = { address: ip };
  await lockAccount(tx, before);
  // Verifying the email meanwhile has voided this token.
  if (!(await useResetToken(tx, secrets, claim))) throw accountErrors.reset_token_invalid();
  const { email } = await readHolder(tx, before);
  // A verified email never moves, even if a token is left.
  if (!(await removeUnverifiedEmail(tx, before, `to someone at ${ip}`)) || email === null)
    throw accountErrors.reset_token_invalid();
  const name = claim.name ?? email.slice(0, email.indexOf('@'));
  const account = await insertAccount(tx, wallets.name, { email, name, passwordHash, wallet });
  if (account === undefined) throw new Error('an email was free and taken in one commit');
  await tx.query('UPDATE accounts SET email_verified_at = now() WHERE id = $1', [account.id]);
  await recordAudit(tx, { accountId: account.id, action: 'account.registered', by });
  await recordAudit(tx, { accountId: account.id, action: 'email.verified', by });
  return { handle: account.handle, isNewAccount: true, revokedKeys: 0, keysLeft: 0, webhooks: [] };
}

async function lockAccount(tx: Transaction, accountId: bigint): Promise<void> {
  await tx.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
}
