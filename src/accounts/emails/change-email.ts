import { type Database, onlyRow, type Transaction } from '../../kernel/db/database.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { randomDigits } from '../../kernel/ids/ids.ts';
import { requireLiveKey } from '../../ledger/require-live-key.ts';
import type { KeyHolder } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import { postMessage } from '../messages/outbox.ts';
import type { AccountParts } from '../parts.ts';
import { type ProvedAccount, requirePassword, requireSamePassword } from '../passwords/require-password.ts';
import { attemptsPerCode, codeMinutes, isCode, refusalOfCodes } from '../verification.ts';
import { lockForEmail, moveEmail } from './move-email.ts';

interface EmailConfirmation {
  readonly accountId: bigint;
  /** From the mail to the new address. */
  readonly code: string;
  /** From the mail to the current address. */
  readonly currentCode: string | undefined;
  readonly by: KeyHolder;
}

interface Waiting {
  readonly email: string;
  readonly codeHash: Buffer;
  readonly currentCodeHash: Buffer | null;
  readonly attemptsLeft: number;
}

/** Throws unless both codes are correct, without saying which one is wrong. A wrong code also uses up an attempt. */
export async function confirmEmailChange(
  { db, secrets, changes }: AccountParts,
  { accountId, code, currentCode, by }: EmailConfirmation,
): Promise<void> {
  if (currentCode === undefined) await refuseMissingCode(db, accountId);
  const { email, codeHash, currentCodeHash, attemptsLeft } = await takeAttempt(db, accountId);
  const isRight = (of: 'new' | 'current', given: string | undefined, kept: Buffer | null) =>
    kept === null || (given !== undefined && isCode(secrets, textOf({ accountId, email, of }, given), kept));
  if (!isRight('new', code, codeHash) || !isRight('current', currentCode, currentCodeHash)) {
    throw accountErrors.wrong_code(
      `The codes do not match the ones that were sent. ${attemptsLeft === 0 ? 'Request new codes' : `Attempts left: ${attemptsLeft}`}.`,
    );
  }
  await changes.everywhere(accountId, async (tx) => {
    await lockForEmail(tx, { accountId, email });
    await requireLiveKey(tx, { accountId, keyId: by.keyId });
    // Another request, a new password or a cancellation may have replaced it meanwhile.
    const used = 'DELETE FROM email_changes WHERE account_id = $1 AND code_hash = $2';
    if ((await tx.query(used, [accountId, codeHash])).rowCount !== 1) throw accountErrors.no_code_waiting();
    await moveEmail(tx, secrets, { accountId, email, by });
  });
}

/** A missing field uses up no attempt. */
async function refuseMissingCode(db: Database, accountId: bigint): Promise<void> {
  const { rowCount } = await db.query(
    'SELECT FROM email_changes WHERE account_id = $1 AND current_code_hash IS NOT NULL AND expires_at > now()',
    [accountId],
  );
  if (rowCount === 0) return;
  const message = 'is required: it was sent to the current email of the account';
  throw httpErrors.invalid_request(`currentCode ${message}.`, { errors: [{ path: 'currentCode', message }] });
}

async function takeAttempt(db: Database, accountId: bigint): Promise<Waiting> {
  const { rows } = await db.query<Waiting>(
    `UPDATE email_changes SET attempts_left = attempts_left - 1
      WHERE account_id = $1 AND attempts_left > 0 AND expires_at > now()
    RETURNING email, code_hash, current_code_hash, attempts_left`,
    [accountId],
  );
  const [waiting] = rows;
  if (waiting === undefined) throw accountErrors.no_code_waiting();
  return waiting;
}

interface EmailCode {
  readonly accountId: bigint;
  readonly email: string;
  /** The address that the code was sent to. */
  readonly of: 'new' | 'current';
}

/** Bound to the change: a code for one change is useless for another. */
function textOf({ accountId, email, of }: EmailCode, code: string): string {
  return `${accountId} email-change ${of} ${email} ${code}`;
}

interface EmailWish {
  readonly accountId: bigint;
  readonly email: string;
  readonly password: string;
  readonly by: KeyHolder;
}

interface EmailAsked {
  /** Whether the email was changed at once, because the sandbox verifies automatically. */
  readonly changed: boolean;
  readonly currentCodeNeeded: boolean;
  readonly expiresAt: Date | null;
}

/**
 * Sends a code to the new address and, if it is verified, one to the current address. It does not check whether
 * another account has the new address, so neither the response nor its timing reveals that.
 */
export async function askEmailChange(parts: AccountParts, wish: EmailWish): Promise<EmailAsked> {
  const { db, changes, secrets, autoVerify } = parts;
  const { accountId, email, by } = wish;
  const account = await requirePassword(parts, wish);
  if (account.email === email) {
    const message = 'is already the email of this account';
    throw httpErrors.invalid_request(`email ${message}.`, { errors: [{ path: 'email', message }] });
  }
  if (autoVerify) {
    await changes.everywhere(accountId, async (tx) => {
      await lockForEmail(tx, { accountId, email });
      await hold(tx, wish, account);
      await moveEmail(tx, secrets, { accountId, email, by });
    });
    return { changed: true, currentCodeNeeded: false, expiresAt: null };
  }
  return db.transaction(async (tx) => {
    await hold(tx, wish, account);
    return sendCodes(tx, parts, { ...wish, account });
  });
}

/** Checks in the transaction that the key is still live and the password unchanged. */
async function hold(tx: Transaction, { accountId, by }: EmailWish, { hash }: ProvedAccount): Promise<void> {
  await requireLiveKey(tx, { accountId, keyId: by.keyId });
  await requireSamePassword(tx, accountId, hash);
}

async function sendCodes(
  tx: Transaction,
  parts: AccountParts,
  { accountId, email, by, account }: EmailWish & { readonly account: ProvedAccount },
): Promise<EmailAsked> {
  const { secrets } = parts;
  const { current } = onlyRow(
    await tx.query<{ current: string | null }>(
      'SELECT CASE WHEN email_verified_at IS NOT NULL THEN email END AS current FROM accounts WHERE id = $1',
      [accountId],
    ),
  );
  const [code, currentCode] = [randomDigits(6), randomDigits(6)];
  const hash = (of: 'new' | 'current', text: string) =>
    secrets.hash('verification-codes', textOf({ accountId, email, of }, text));
  const hashes = [hash('new', code), current === null ? null : hash('current', currentCode)];
  const { expiresAt } = onlyRow(
    await tx.query<{ expiresAt: Date }>(
      `INSERT INTO email_changes (account_id, email, code_hash, current_code_hash, attempts_left, expires_at)
       VALUES ($1, $2, $3, $4, $5, now() + make_interval(mins => $6))
       ON CONFLICT (account_id) DO UPDATE
         SET email = EXCLUDED.email, code_hash = EXCLUDED.code_hash, current_code_hash = EXCLUDED.current_code_hash,
             attempts_left = EXCLUDED.attempts_left, expires_at = EXCLUDED.expires_at
       RETURNING expires_at`,
      [accountId, email, ...hashes, attemptsPerCode, codeMinutes],
    ),
  );
  const targets: [string, ...string[]] = current === null ? [email] : [email, current];
  const refusal = await refusalOfCodes(tx, parts, { accountId, kind: 'email', by }, targets);
  if (refusal !== undefined) throw refusal;
  const mail = { accountId, channel: 'email', subject: 'Your Paywright code' } as const;
  await postMessage(tx, secrets, {
    ...mail,
    to: email,
    text: `${code} is the code to make this the email of the Paywright account ${account.handle}. It is valid for ${codeMinutes} minutes. If you have no such account, ignore this mail.`,
  });
  if (current !== null) {
    await postMessage(tx, secrets, {
      ...mail,
      to: current,
      text: `${currentCode} is the code to change the email of your Paywright account to ${email}. It is valid for ${codeMinutes} minutes. Without it your email stays unchanged.\n\nIf this was not you, someone knows your password: set a new one at once with POST /account/password/reset, and revoke all keys with it (revokeKeys).`,
    });
  }
  return { changed: false, currentCodeNeeded: current !== null, expiresAt };
}
