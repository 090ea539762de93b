import { timingSafeEqual } from 'node:crypto';
import type { Database } from '../../kernel/db/database.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { requireLiveKey } from '../../ledger/require-live-key.ts';
import type { AuditActor } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import type { AskEmailParts } from './ask-email-change.ts';
import { hashesOfEmailCode } from './email-code.ts';
import { lockForEmail, moveEmail } from './move-email.ts';

export interface EmailConfirmation {
  readonly accountId: bigint;
  /** From the mail to the new address. */
  readonly code: string;
  /** From the mail to the current address. */
  readonly currentCode: string | undefined;
  readonly by: AuditActor & { readonly keyId: string };
}

interface Waiting {
  readonly email: string;
  readonly codeHash: Buffer;
  readonly currentCodeHash: Buffer | null;
  readonly attemptsLeft: number;
}

/** Throws unless both codes are correct, without saying which one is wrong. A wrong code also uses up an attempt. */
export async function confirmEmailChange(
  { db, secrets, changes }: Pick<AskEmailParts, 'db' | 'secrets' | 'changes'>,
  { accountId, code, currentCode, by }: EmailConfirmation,
): Promise<void> {
  if (currentCode === undefined) await refuseMissingCode(db, accountId);
  const { email, codeHash, currentCodeHash, attemptsLeft } = await takeAttempt(db, accountId);
  const isRight = (of: 'new' | 'current', given: string | undefined, kept: Buffer) =>
    given !== undefined &&
    hashesOfEmailCode(secrets, { accountId, email, of }, given).some((hash) => timingSafeEqual(hash, kept));
  if (
    !isRight('new', code, codeHash) ||
    (currentCodeHash !== null && !isRight('current', currentCode, currentCodeHash))
  ) {
    throw accountErrors.wrong_code(
      `The codes do not match the ones that were sent. ${attemptsLeft === 0 ? 'Request new codes' : `Attempts left: ${attemptsLeft}`}.`,
    );
  }
  await changes.everywhere(accountId, async (tx) => {
    await lockForEmail(tx, { accountId, email });
    await requireLiveKey(tx, { accountId, keyId: by.keyId });
    // Another request, a new password or a cancellation may have replaced it meanwhile.
    const { rowCount } = await tx.query('DELETE FROM email_changes WHERE account_id = $1 AND code_hash = $2', [
      accountId,
      codeHash,
    ]);
    if (rowCount !== 1) throw accountErrors.no_code_waiting();
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
