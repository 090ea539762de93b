import { timingSafeEqual } from 'node:crypto';
import { type Database, type Transaction, violates } from '../db/database.ts';
import { randomDigits } from '../ids.ts';
import { postMessage } from '../messages/outbox.ts';
import type { RateLimiter } from '../rate-limit/limiter.ts';
import type { Secrets } from '../secrets.ts';
import { accountErrors } from './errors.ts';

type ContactKind = 'email' | 'phone';

interface Contact {
  readonly accountId: bigint;
  readonly kind: ContactKind;
  readonly target: string;
}

const codeMinutes = 15;
const attemptsPerCode = 5;
const codesPerHour = { limit: 5, windowMs: 60 * 60_000 };

/**
 * Proves that an account can read what is sent to an email address or a phone number. Only then does the address or
 * number stand for the account when somebody pays to it.
 */
export interface Verification {
  /** Sends a code in the caller's commit; in a sandbox that verifies by itself the contact is verified instead. */
  begin(tx: Transaction, contact: Contact): Promise<void>;
  /** Sends a new code for what is waiting to be verified. */
  resend(tx: Transaction, waiting: Pick<Contact, 'accountId' | 'kind'>): Promise<void>;
  /** Throws unless the code is right; an attempt counts even when it is wrong. */
  complete(answer: Pick<Contact, 'accountId' | 'kind'> & { readonly code: string }): Promise<void>;
}

export interface VerificationParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly limiter: RateLimiter;
  readonly automatic: boolean;
}

export function createVerification({ db, secrets, limiter, automatic }: VerificationParts): Verification {
  async function begin(tx: Transaction, contact: Contact): Promise<void> {
    if (automatic) {
      await markVerified(tx, contact);
      return;
    }
    await refuseFlood(limiter, contact);
    const code = randomDigits(6);
    await tx.query(
      `INSERT INTO verification_codes (account_id, kind, target, code_hash, attempts_left, expires_at)
       VALUES ($1, $2, $3, $4, $5, now() + make_interval(mins => $6))
       ON CONFLICT (account_id, kind) DO UPDATE
         SET target = EXCLUDED.target, code_hash = EXCLUDED.code_hash,
             attempts_left = EXCLUDED.attempts_left, expires_at = EXCLUDED.expires_at`,
      [
        contact.accountId,
        contact.kind,
        contact.target,
        secrets.hash('verification-codes', textOf(contact, code)),
        attemptsPerCode,
        codeMinutes,
      ],
    );
    await postMessage(tx, secrets, {
      accountId: contact.accountId,
      channel: contact.kind === 'email' ? 'email' : 'sms',
      to: contact.target,
      subject: 'Your Paywright code',
      text: `${code} is your Paywright code. It is good for ${codeMinutes} minutes. Nobody will ever ask you for it.`,
    });
  }

  /** Bound to what it proves: a code sent to one number is worth nothing for another. */
  function textOf({ accountId, kind, target }: Contact, code: string): string {
    return `${accountId} ${kind} ${target} ${code}`;
  }

  return {
    begin,

    async resend(tx, { accountId, kind }) {
      const { rows } = await tx.query<{ target: string }>(
        'SELECT target FROM verification_codes WHERE account_id = $1 AND kind = $2',
        [accountId, kind],
      );
      const [waiting] = rows;
      if (waiting === undefined) throw accountErrors.no_code_waiting();
      await begin(tx, { accountId, kind, target: waiting.target });
    },

    async complete({ accountId, kind, code }) {
      const { rows } = await db.query<{ target: string; code_hash: Buffer; attempts_left: number }>(
        `UPDATE verification_codes SET attempts_left = attempts_left - 1
          WHERE account_id = $1 AND kind = $2 AND attempts_left > 0 AND expires_at > now()
        RETURNING target, code_hash, attempts_left`,
        [accountId, kind],
      );
      const [waiting] = rows;
      if (waiting === undefined) throw accountErrors.no_code_waiting();
      const contact = { accountId, kind, target: waiting.target };
      const hashes = secrets.hashes('verification-codes', textOf(contact, code));
      if (!hashes.some((hash) => timingSafeEqual(hash, waiting.code_hash))) {
        const left = waiting.attempts_left;
        throw accountErrors.wrong_code(
          `This is not the code that was sent; ${left === 0 ? 'ask for a new one' : `${left} more can be tried`}.`,
        );
      }
      await db.transaction(async (tx) => {
        // The account first, as whoever claims a number does.
        await tx.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
        // Another number may have taken its place in the meantime; then this code proves nothing any more.
        const { rowCount } = await tx.query(
          'DELETE FROM verification_codes WHERE account_id = $1 AND kind = $2 AND code_hash = $3',
          [accountId, kind, waiting.code_hash],
        );
        if (rowCount !== 1) throw accountErrors.no_code_waiting();
        await markVerified(tx, contact);
      });
    },
  };
}

/** Neither may one account order codes without end, nor may many accounts together flood one phone. */
async function refuseFlood(limiter: RateLimiter, { accountId, kind, target }: Contact): Promise<void> {
  const byAccount = await limiter.take(`codes:${kind}:${accountId}`, codesPerHour);
  const decision = byAccount.allowed ? await limiter.take(`codes:to:${target}`, codesPerHour) : byAccount;
  if (decision.allowed) return;
  const seconds = Math.max(1, Math.ceil(decision.resetMs / 1000));
  throw accountErrors.too_many_attempts(`Too many codes were asked for. Try again in ${seconds} seconds.`, {
    headers: { 'Retry-After': String(seconds) },
  });
}

async function markVerified(tx: Transaction, { accountId, kind, target }: Contact): Promise<void> {
  try {
    if (kind === 'phone') await tx.query('UPDATE accounts SET phone = $2 WHERE id = $1', [accountId, target]);
    else await tx.query('UPDATE accounts SET email_verified_at = now() WHERE id = $1', [accountId]);
  } catch (error) {
    if (violates(error, 'accounts_phone_key')) throw accountErrors.phone_taken();
    throw error;
  }
}
