import type { Transaction } from '../kernel/db/database.ts';
import type { Logger } from '../kernel/log/logger.ts';
import type { RateLimiter } from '../kernel/rate-limit/limiter.ts';
import { accountErrors } from './errors.ts';
import { countryOf } from './fields.ts';
import { countMessage, type DailyLimits } from './messages/daily-caps.ts';

export const codeMinutes = 15;
export const attemptsPerCode = 5;
const codesPerHour = { limit: 5, windowMs: 60 * 60_000 };

/** How many codes are sent per day. */
export type CodeLimits = Readonly<Record<'mails' | 'sms', DailyLimits>>;

export interface CodeLimitParts {
  readonly limiter: RateLimiter;
  readonly logger: Logger;
  readonly codeLimits: CodeLimits;
}

interface WantedCodes {
  readonly accountId: bigint;
  readonly kind: 'email' | 'phone';
  /** One code is sent to each target. */
  readonly targets: readonly [string, ...string[]];
  readonly ip: string;
}

/**
 * Returns why no code can be sent now, or undefined after counting it. The limits keep one account from ordering codes
 * without end, and many accounts from flooding one phone or running up the operator's bill.
 */
export async function refusalOfCodes(
  tx: Transaction,
  { limiter, logger, codeLimits }: CodeLimitParts,
  { accountId, kind, targets, ip }: WantedCodes,
) {
  for (const bucket of [`codes:${kind}:${accountId}`, ...targets.map((target) => `codes:to:${target}`)]) {
    const { allowed, resetMs } = await limiter.take(bucket, codesPerHour);
    if (!allowed) return tooManyCodes('You requested too many codes.', Math.ceil(resetMs / 1000));
  }
  const channel = kind === 'email' ? 'mails' : 'sms';
  const country = kind === 'phone' ? countryOf(targets[0]) : undefined;
  const over = await countMessage(tx, logger, codeLimits[channel], { kind: channel, ip, target: targets, country });
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
