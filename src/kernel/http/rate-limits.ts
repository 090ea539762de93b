import type { FastifyReply } from 'fastify';
import type { RateLimitDecision, RateLimiter } from '../rate-limit/limiter.ts';
import type { RateLimits } from '../rate-limit/rate-limits.ts';
import { limitsPerNetwork, networksOf } from './client-address.ts';
import type { Caller } from './define-route.ts';
import { httpErrors } from './errors.ts';

const limitWindowMs = 60_000;

/** Requests per minute; 0 is unlimited. */
export function limitOfTier(limits: RateLimits, tier: Caller['tier']): number {
  switch (tier) {
    case 'free':
      return limits.free;
    case 'pro':
      return limits.pro;
    case 'enterprise':
      return 0;
  }
}

/** A bucket and its limit per minute; 0 is unlimited. */
export interface Limited {
  readonly bucket: string;
  readonly limit: number;
}

export interface Counted extends Limited {
  readonly decision: RateLimitDecision;
}

/** Limits for requests without a key: per address and, in IPv6, per surrounding network. */
export function limitsOfAddress(limits: RateLimits, ip: string): readonly Limited[] {
  const { nearest, wider } = networksOf(ip);
  const own = { bucket: `ip:${nearest}`, limit: limits.anonymous };
  return wider === undefined ? [own] : [own, { bucket: `ip:${wider}`, limit: limits.network }];
}

/**
 * Limits for invalid incoming notifications. They have buckets of their own, so anonymous calls from the same address
 * do not use them up.
 */
export function limitsOfNotifications(limits: RateLimits, ip: string): readonly Limited[] {
  return limitsOfAddress(limits, ip).map(({ bucket, limit }) => ({ bucket: `notices:${bucket}`, limit }));
}

/** How many signatures are verified per address for each anonymous request that it may send. */
const trialsPerRequest = 20;

/** Limits for invalid signatures. A valid one is given back, so it passes whatever else the address has used up. */
export function limitsOfSignatures(limits: RateLimits, ip: string): readonly Limited[] {
  return limitsOfAddress(limits, ip).map(({ bucket, limit }) => ({
    bucket: `trials:${bucket}`,
    limit: trialsPerRequest * limit,
  }));
}

export function limitsOfPages({ pages }: RateLimits, ip: string): readonly Limited[] {
  return limitsPerNetwork(ip, pages).map(({ network, limit }) => ({ bucket: `pages:${network}`, limit }));
}

/** All accounts behind one address also share a limit, far above the limit of a single account. */
export function limitsOfCaller(
  limits: RateLimits,
  { bucket, tier }: Caller,
  address: () => string,
): readonly Limited[] {
  const own = { bucket, limit: limitOfTier(limits, tier) };
  if (limits.address === 0 || tier === 'enterprise') return [own];
  const shared = limitsPerNetwork(address(), limits.address);
  return [own, ...shared.map(({ network, limit }) => ({ bucket: `keyed:${network}`, limit }))];
}

/**
 * Counts a request against all of its limits, or against none if one is exceeded. Returns the tightest limit, or
 * undefined when none applies. Synchronous without Redis.
 */
export function countRequest(
  limiter: RateLimiter,
  limited: readonly Limited[],
): Counted | undefined | Promise<Counted | undefined> {
  const counting = limited.filter(({ limit }) => limit > 0);
  const [first] = counting;
  if (first === undefined) return undefined;
  return counting.length === 1 ? take(limiter, first) : takeAll(limiter, counting);
}

function take(limiter: RateLimiter, limited: Limited): Counted | Promise<Counted> {
  const decision = limiter.take(limited.bucket, { limit: limited.limit, windowMs: limitWindowMs });
  return decision instanceof Promise
    ? decision.then((late) => ({ ...limited, decision: late }))
    : { ...limited, decision };
}

function takeAll(
  limiter: RateLimiter,
  counting: readonly Limited[],
  taken: readonly Counted[] = [],
): Counted | undefined | Promise<Counted | undefined> {
  const [each, ...others] = counting;
  if (each === undefined) return tightestOf(taken);
  const goOn = (counted: Counted) => {
    if (counted.decision.allowed) return takeAll(limiter, others, [...taken, counted]);
    const given = taken.map(({ decision }) => decision.giveBack()).filter((back) => back instanceof Promise);
    return given.length === 0 ? counted : Promise.all(given).then(() => counted);
  };
  const counted = take(limiter, each);
  return counted instanceof Promise ? counted.then(goOn) : goOn(counted);
}

/** Throws the 429 when a limit is exhausted, without counting. */
export async function refuseWithoutRoom(limiter: RateLimiter, limited: readonly Limited[]): Promise<void> {
  for (const { bucket, limit } of limited.filter((each) => each.limit > 0)) {
    const room = await limiter.peek(bucket, { limit, windowMs: limitWindowMs });
    if (!room.allowed) throw tooManyRequests(limit, room.resetMs);
  }
}

function tightestOf(taken: readonly Counted[]): Counted | undefined {
  const [tightest] = taken.toSorted((a, b) => a.decision.remaining - b.decision.remaining);
  if (tightest === undefined) return undefined;
  const giveBack = async () => {
    for (const { decision } of taken) await decision.giveBack();
  };
  return { ...tightest, decision: { ...tightest.decision, giveBack } };
}

/** Sets the RateLimit headers and throws the 429 when the limit is exceeded. */
export function applyDecision(reply: FastifyReply, counted: Counted): void {
  const { limit, decision } = counted;
  const seconds = Math.max(1, Math.ceil(decision.resetMs / 1000));
  reply.header('RateLimit-Policy', `"default";q=${limit};w=${limitWindowMs / 1000}`);
  reply.header('RateLimit', `"default";r=${decision.remaining};t=${seconds}`);
  applyRefusal(counted);
}

export function applyRefusal({ limit, decision }: Counted): void {
  if (!decision.allowed) throw tooManyRequests(limit, decision.resetMs);
}

export function tooManyRequests(limit: number, resetMs: number) {
  const seconds = Math.max(1, Math.ceil(resetMs / 1000));
  return httpErrors.rate_limited(
    `The rate limit of ${limit} requests a minute is reached. Wait ${seconds} ${seconds === 1 ? 'second' : 'seconds'} and try again.`,
    { headers: { 'Retry-After': String(seconds) } },
  );
}
