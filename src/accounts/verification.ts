import { timingSafeEqual } from 'node:crypto';
import { type Database, type Transaction, violates } from '../kernel/db/database.ts';
import { randomDigits } from '../kernel/ids/ids.ts';
import type { Logger } from '../kernel/log/logger.ts';
import type { RateLimiter } from '../kernel/rate-limit/limiter.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import { recordAccountChanged } from './account-events.ts';
import { type AuditActor, type Client, recordAudit } from './audit/record.ts';
import { accountErrors } from './errors.ts';
import { countryOf } from './fields.ts';
import { countMessage, type DailyLimits } from './messages/message-limits.ts';
import { postMessage } from './messages/outbox.ts';

export const codeMinutes = 15;
export const attemptsPerCode = 5;
const codesPerHour = { limit: 5, windowMs: 60 * 60_000 };

export type CodeLimits = Readonly<Record<'mails' | 'sms', DailyLimits>>;

export interface CodeLimitParts {
  readonly limiter: RateLimiter;
  readonly logger: Logger;
  readonly codeLimits: CodeLimits;
}

/**
 * Returns why no code can be sent to each target now, or undefined after counting them. The limits keep one account from ordering codes
 * without end, and many accounts from flooding one phone or running up the operator's bill.
 */
export async function refusalOfCodes(
  tx: Transaction,
  { limiter, logger, codeLimits }: CodeLimitParts,
  { accountId, kind, by }: Omit<Wanted, 'target'>,
  targets: readonly [string, ...string[]],
) {
  for (const bucket of [`codes:${kind}:${accountId}`, ...targets.map((target) => `codes:to:${target}`)]) {
    const { allowed, resetMs } = await limiter.take(bucket, codesPerHour);
    if (!allowed) return tooManyCodes('You requested too many codes.', Math.ceil(resetMs / 1000));
  }
  const channel = kind === 'email' ? 'mails' : 'sms';
  const country = kind === 'phone' ? countryOf(targets[0]) : undefined;
  const over = await countMessage(tx, logger, codeLimits[channel], {
    kind: channel,
    ip: by.address,
    target: targets,
    country,
  });
  if (over === undefined) return undefined;
  const whose = {
    network: 'to your network',
    target: kind === 'email' ? 'to this email' : 'to this number',
    country: 'to this country',
    all: 'by this service',
  };
  return tooManyCodes(`The daily limit of codes sent ${whose[over]} is reached.`, 3_600);
}

function tooManyCodes(why: string, resetSeconds: number) {
  const seconds = Math.max(1, resetSeconds);
  return accountErrors.too_many_attempts(`${why} Try again in ${seconds} seconds.`, {
    headers: { 'Retry-After': String(seconds) },
  });
}

interface Contact {
  readonly accountId: bigint;
  readonly kind: 'email' | 'phone';
  readonly target: string;
}

type Wanted = Contact & { readonly by: Client };

/** Proves that an account can read messages at an email address or phone number. Only then can others pay the account by it. */
export interface Verification {
  /** Sends a code in the caller's transaction. A sandbox with automatic verification marks the contact as verified instead. */
  begin(tx: Transaction, wanted: Wanted): Promise<void>;
  /** For a new account, which is created even if no code can be sent today. The owner can request one later. */
  beginIfPossible(tx: Transaction, wanted: Wanted): Promise<{ readonly isVerified: boolean }>;
  resend(tx: Transaction, wanted: Omit<Wanted, 'target'>): Promise<void>;
  /** Throws unless the code is correct. A wrong code also uses up an attempt. */
  complete(answer: Omit<Wanted, 'target'> & { readonly code: string }): Promise<void>;
}

export interface VerificationParts extends CodeLimitParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly autoVerify: boolean;
}

export function createVerification(parts: VerificationParts): Verification {
  const { db, secrets, autoVerify } = parts;

  async function begin(tx: Transaction, wanted: Wanted): Promise<void> {
    if (autoVerify) return markVerified(tx, wanted, wanted.by);
    await refuseUnproved(tx, wanted);
    const code = await keepCode(tx, wanted);
    const refusal = await refusalOfCodes(tx, parts, wanted, [wanted.target]);
    if (refusal !== undefined) throw refusal;
    await sendCode(tx, wanted, code);
  }

  async function beginIfPossible(tx: Transaction, wanted: Wanted) {
    if (autoVerify) {
      await markVerified(tx, wanted, wanted.by);
      return { isVerified: true };
    }
    const code = await keepCode(tx, wanted);
    if ((await refusalOfCodes(tx, parts, wanted, [wanted.target])) === undefined) await sendCode(tx, wanted, code);
    return { isVerified: false };
  }

  async function keepCode(tx: Transaction, contact: Contact): Promise<string> {
    const { accountId, kind, target } = contact;
    const code = randomDigits(6);
    const hash = secrets.hash('verification-codes', textOf(contact, code));
    await tx.query(
      `INSERT INTO verification_codes (account_id, kind, target, code_hash, attempts_left, expires_at)
       VALUES ($1, $2, $3, $4, $5, now() + make_interval(mins => $6))
       ON CONFLICT (account_id, kind) DO UPDATE
         SET target = EXCLUDED.target, code_hash = EXCLUDED.code_hash,
             attempts_left = EXCLUDED.attempts_left, expires_at = EXCLUDED.expires_at`,
      [accountId, kind, target, hash, attemptsPerCode, codeMinutes],
    );
    return code;
  }

  async function sendCode(tx: Transaction, { accountId, kind, target }: Contact, code: string): Promise<void> {
    await postMessage(tx, secrets, {
      accountId,
      channel: kind === 'email' ? 'email' : 'sms',
      to: target,
      subject: 'Your Paywright code',
      text: `${code} is your Paywright code. It is valid for ${codeMinutes} minutes. We will never ask you for it.`,
    });
  }

  /** Bound to the contact: a code for one number is useless for another. */
  function textOf({ accountId, kind, target }: Contact, code: string): string {
    return `${accountId} ${kind} ${target} ${code}`;
  }

  return {
    begin,
    beginIfPossible,

    async resend(tx, { accountId, kind, by }) {
      const { rows } = await tx.query<{ target: string }>(
        'SELECT target FROM verification_codes WHERE account_id = $1 AND kind = $2',
        [accountId, kind],
      );
      const [waiting] = rows;
      if (waiting === undefined) throw accountErrors.no_code_waiting();
      await begin(tx, { accountId, kind, target: waiting.target, by });
    },

    async complete({ accountId, kind, code, by }) {
      const { rows } = await db.query<{ target: string; codeHash: Buffer; attemptsLeft: number }>(
        `UPDATE verification_codes SET attempts_left = attempts_left - 1
          WHERE account_id = $1 AND kind = $2 AND attempts_left > 0 AND expires_at > now()
        RETURNING target, code_hash, attempts_left`,
        [accountId, kind],
      );
      const [waiting] = rows;
      if (waiting === undefined) throw accountErrors.no_code_waiting();
      const contact = { accountId, kind, target: waiting.target };
      if (!isCode(secrets, textOf(contact, code), waiting.codeHash)) {
        const left = waiting.attemptsLeft;
        throw accountErrors.wrong_code(
          `The code does not match the one that was sent. ${left === 0 ? 'Request a new code' : `Attempts left: ${left}`}.`,
        );
      }
      await db.transaction(async (tx) => {
        // Locks the account first, in the same order as a request that claims a number.
        await tx.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
        // The pending number may have changed meanwhile; then this code proves nothing.
        const { rowCount } = await tx.query(
          'DELETE FROM verification_codes WHERE account_id = $1 AND kind = $2 AND code_hash = $3',
          [accountId, kind, waiting.codeHash],
        );
        if (rowCount !== 1) throw accountErrors.no_code_waiting();
        await markVerified(tx, contact, by);
        await recordAudit(tx, { accountId, action: `${kind}.verified`, by });
      });
    },
  };
}

export function isCode(secrets: Secrets, text: string, kept: Buffer): boolean {
  return secrets.hashes('verification-codes', text).some((hash) => timingSafeEqual(hash, kept));
}

/** Each SMS costs money, so the account must have verified its email first. */
async function refuseUnproved(tx: Transaction, { accountId, kind }: Contact): Promise<void> {
  if (kind === 'email') return;
  const proved = 'SELECT FROM accounts WHERE id = $1 AND email_verified_at IS NOT NULL';
  if ((await tx.query(proved, [accountId])).rowCount === 0) throw accountErrors.email_not_verified();
}

async function markVerified(tx: Transaction, { accountId, kind, target }: Contact, by: AuditActor): Promise<void> {
  if (kind === 'phone') await markPhone(tx, accountId, target);
  else await markEmail(tx, accountId, target);
  await recordAccountChanged(tx, accountId, { fields: [kind === 'phone' ? 'phone' : 'emailVerified'], by });
}

async function markEmail(tx: Transaction, accountId: bigint, email: string): Promise<void> {
  // The email may have moved to another account that proved the mailbox first.
  const { rowCount } = await tx.query('UPDATE accounts SET email_verified_at = now() WHERE id = $1 AND email = $2', [
    accountId,
    email,
  ]);
  if (rowCount !== 1) throw accountErrors.no_code_waiting();
  // A claim token was for an unverified email, so it is now void.
  await tx.query("DELETE FROM password_resets WHERE account_id = $1 AND kind = 'claim'", [accountId]);
  // A pending change was requested without a code from this address, because it was unverified then.
  await tx.query('DELETE FROM email_changes WHERE account_id = $1', [accountId]);
}

async function markPhone(tx: Transaction, accountId: bigint, phone: string): Promise<void> {
  try {
    await tx.query('UPDATE accounts SET phone = $2 WHERE id = $1', [accountId, phone]);
  } catch (error) {
    if (violates(error, 'accounts_phone_key')) throw accountErrors.phone_taken();
    throw error;
  }
}
