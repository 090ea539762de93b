import type { Clock } from '../../kernel/clock.ts';
import { dailyCaps } from '../../kernel/daily-caps/count-today.ts';
import { secondsLeftToday, takenToday, takeToday } from '../../kernel/daily-caps/take-today.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { type ErrorKind, Problem } from '../../kernel/http/problem.ts';
import type { RateLimitDecision, RateLimiter } from '../../kernel/rate-limit/limiter.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { type Client, recordAudit } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import { mailOwner } from '../mail-owner.ts';
import { factorErrors } from './errors.ts';
import { hasSecondFactor, readFactors } from './factors.ts';
import { type CheckedPasskey, spendPasskey } from './passkey.ts';
import { recoveryCodesLeft, spendRecoveryCode } from './recovery-codes.ts';
import { matchingStep } from './totp.ts';

export interface FactorParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly limiter: RateLimiter;
  readonly clock: Clock;
}

/** A code of an authenticator app or a recovery code, or a passkey whose signature is right. */
export type GivenFactor = { readonly otp: string } | { readonly passkey: CheckedPasskey };

/** How the caller has proved to be the owner so far, and so what a missing or wrong factor is answered with. */
type Where = 'sign-in' | 'key';

const refusals: Readonly<Record<Where, { readonly missing: ErrorKind; readonly wrong: ErrorKind }>> = {
  'sign-in': { missing: accountErrors.second_factor_required, wrong: accountErrors.wrong_second_factor },
  key: { missing: accountErrors.otp_required, wrong: accountErrors.wrong_otp },
};

interface FactorAttempt {
  readonly accountId: bigint;
  readonly where: Where;
  readonly by: Client;
  readonly given: GivenFactor | undefined;
}

export type UsedFactor = 'totp' | 'recovery code' | 'passkey';

/** Call it in the transaction that does what the factor is needed for, behind the lock of the account's row. */
export type RequireFactor = (tx: Transaction) => Promise<UsedFactor | undefined>;

/**
 * Runs `work`, which calls the function that it receives in its own transaction: it refuses a missing or wrong second factor, and uses up a
 * right one. Nothing is asked of an account without a second factor. Wrong codes are limited for each account, and only those who know the
 * password, or hold a key of the account, get here.
 */
export async function withSecondFactor<Result>(
  parts: FactorParts,
  attempt: FactorAttempt,
  work: (requireFactor: RequireFactor) => Promise<Result>,
): Promise<Result> {
  const { given } = attempt;
  if (given === undefined || isBlank(given)) return work((tx) => refuseMissing(tx, attempt));
  if ('passkey' in given) return work((tx) => usePasskey(tx, given.passkey, attempt));
  if (!hasSecondFactor(await readFactors(parts.db, attempt.accountId))) return work((tx) => refuseMissing(tx, attempt));
  const counted = await countCode(parts, attempt);
  try {
    const result = await work((tx) => useCode(tx, parts, { ...attempt, otp: given.otp }));
    await counted.giveBack();
    return result;
  } catch (error) {
    const isWrong = error instanceof Problem && error.code === refusals[attempt.where].wrong.code;
    if (isWrong) await noteWrongCode(parts, attempt, counted);
    else await counted.giveBack();
    throw error;
  }
}

interface KeyAttempt {
  readonly caller: Pick<Caller, 'accountId' | 'keyId'>;
  readonly ip: string;
  readonly otp: string | undefined;
}

/** The same for a request with a key, which a thief may hold. */
export function withOtp<Result>(
  parts: FactorParts,
  { caller: { accountId, keyId }, ip, otp }: KeyAttempt,
  work: (requireFactor: RequireFactor) => Promise<Result>,
): Promise<Result> {
  const given = otp === undefined ? undefined : { otp };
  return withSecondFactor(parts, { accountId, where: 'key', by: { keyId, address: ip }, given }, work);
}

/** An empty field of a form. Nobody guesses a code with it. */
function isBlank(given: GivenFactor): boolean {
  return 'otp' in given && blankless(given.otp) === '';
}

function blankless(code: string): string {
  return code.replaceAll(/[\s-]/g, '');
}

async function refuseMissing(tx: Transaction, { accountId, where }: FactorAttempt): Promise<undefined> {
  if (hasSecondFactor(await readFactors(tx, accountId))) throw refusals[where].missing();
}

async function usePasskey(tx: Transaction, checked: CheckedPasskey, { accountId }: FactorAttempt): Promise<UsedFactor> {
  if (checked.accountId !== accountId) throw factorErrors.passkey_refused();
  await spendPasskey(tx, checked);
  return 'passkey';
}

type CodeAttempt = FactorAttempt & { readonly otp: string };

async function useCode(tx: Transaction, parts: FactorParts, attempt: CodeAttempt): Promise<UsedFactor> {
  if (await useTotp(tx, parts, attempt)) return 'totp';
  if (!(await spendRecoveryCode(tx, parts.secrets, { accountId: attempt.accountId, code: attempt.otp })))
    throw refusals[attempt.where].wrong();
  await tellOfRecoveryCode(tx, parts, attempt);
  return 'recovery code';
}

/** The second of two concurrent requests with one code waits for the first, and finds the code used. */
async function useTotp(
  tx: Transaction,
  { secrets, clock }: FactorParts,
  { accountId, otp }: CodeAttempt,
): Promise<boolean> {
  const { rows } = await tx.query<{ sealed: Buffer; lastStep: bigint }>(
    'SELECT sealed, last_step FROM totp_secrets WHERE account_id = $1 AND active_at IS NOT NULL FOR NO KEY UPDATE',
    [accountId],
  );
  const [totp] = rows;
  if (totp === undefined) return false;
  const secret = Buffer.from(secrets.open('totp-secrets', totp.sealed), 'hex');
  const step = matchingStep({ secret, code: blankless(otp), ms: clock.now(), lastStep: totp.lastStep });
  if (step === undefined) return false;
  await tx.query('UPDATE totp_secrets SET last_step = $2 WHERE account_id = $1', [accountId, step]);
  return true;
}

async function tellOfRecoveryCode(
  tx: Transaction,
  { secrets }: FactorParts,
  { accountId, by }: CodeAttempt,
): Promise<void> {
  const left = await recoveryCodesLeft(tx, accountId);
  await recordAudit(tx, { accountId, action: 'recovery_code.used', by, details: { left } });
  await mailOwner(tx, secrets, accountId, {
    subject: 'A recovery code was used',
    text: `A request from ${by.address} used a recovery code of your second factor. You have ${left} more. The page /app/security makes new ones.`,
  });
}

const attempts = { limit: 5, windowMs: 15 * 60_000 };

/**
 * Six digits are guessed by chance, so there are few attempts: 5 within 15 minutes, and 30 on a day. Counted before the code is checked, so
 * that parallel attempts gain nothing, and apart for sign-ins and for keys, so that a stolen key keeps nobody from signing in.
 */
async function countCode({ db, limiter }: FactorParts, attempt: FactorAttempt): Promise<RateLimitDecision> {
  if ((await takenToday(db, scopeOf(attempt))) >= dailyCaps.wrongCodes.most) throw tooMany(await secondsLeftToday(db));
  const counted = await limiter.take(`second-factor:${attempt.where}:${attempt.accountId}`, attempts);
  if (!counted.allowed) throw tooMany(Math.ceil(counted.resetMs / 1000));
  return counted;
}

/** Recorded at most as often as it is let through. Mailed with the last attempt of 15 minutes, because a single one is a slip. */
async function noteWrongCode({ db, secrets }: FactorParts, attempt: FactorAttempt, { remaining }: RateLimitDecision) {
  const { accountId, by, where } = attempt;
  await db.transaction(async (tx) => {
    if ((await takeToday(tx, { scope: scopeOf(attempt), limit: dailyCaps.wrongCodes.most })) === undefined) return;
    await recordAudit(tx, { accountId, action: 'second_factor.failed', by });
    if (remaining > 0) return;
    await mailOwner(tx, secrets, accountId, {
      subject: 'Wrong codes for your account',
      text: `Someone at ${by.address} ${where === 'sign-in' ? 'knows your password and' : 'has an API key of your account and'} entered ${attempts.limit} wrong codes of the second factor. None was accepted. No further code is checked for some minutes.`,
    });
  });
}

function scopeOf({ accountId, where }: FactorAttempt): string {
  return `wrongCodes:${where}:account:${accountId}`;
}

function tooMany(resetSeconds: number) {
  const seconds = Math.max(1, resetSeconds);
  return accountErrors.too_many_attempts(
    `There were too many wrong codes of the second factor. Try again in ${seconds} seconds, or use a passkey on the website.`,
    { headers: { 'Retry-After': String(seconds) } },
  );
}
