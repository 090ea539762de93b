import type { FastifyReply } from 'fastify';
import type { RateLimitDecision, RateLimiter } from '../rate-limit/limiter.ts';
import type { RateLimitConfig } from '../rate-limit/rate-limit-config.ts';
import { busyNetworks, networksOf } from './client-address.ts';
import type { Caller } from './define-route.ts';
import { httpErrors } from './errors.ts';

const limitWindowMs = 60_000;

/** Requests a minute for this tier; 0 is unlimited. */
export function limitOfTier(limits: RateLimitConfig, tier: Caller['tier']): number {
  switch (tier) {
    case 'free':
      return limits.free;
    case 'pro':
      return limits.pro;
    case 'enterprise':
      return 0;
  }
}

/** Something that is counted, and how much of it passes in a minute; 0 is unlimited. */
export interface Limited {
  readonly bucket: string;
  readonly limit: number;
}

/** How a request was counted: by which limit, and with which result. */
export interface Counted extends Limited {
  readonly decision: RateLimitDecision;
}

/** What requests without a key are counted under: their address and, in IPv6, the network around it. */
export function limitsOfAddress(limits: RateLimitConfig, ip: string): readonly Limited[] {
  const { nearest, wider } = networksOf(ip);
  const own = { bucket: `ip:${nearest}`, limit: limits.anonymous };
  return wider === undefined ? [own] : [own, { bucket: `ip:${wider}`, limit: limits.network }];
}

/** What notices of others that turn out to be bad are counted under. Anonymous calls of the same address leave them their room. */
export function limitsOfNotices(limits: RateLimitConfig, ip: string): readonly Limited[] {
  return limitsOfAddress(limits, ip).map(({ bucket, limit }) => ({ bucket: `notices:${bucket}`, limit }));
}

/** How many signatures are verified for an address, for each request that it has without a key. */
const trialsPerRequest = 20;

/** What signatures that turn out to be wrong are counted under. Good ones are taken out again, whatever else the address has used up. */
export function limitsOfTrials(limits: RateLimitConfig, ip: string): readonly Limited[] {
  return limitsOfAddress(limits, ip).map(({ bucket, limit }) => ({
    bucket: `trials:${bucket}`,
    limit: trialsPerRequest * limit,
  }));
}

/** What requests for pages are counted under, likewise. */
export function limitsOfPages({ pages }: RateLimitConfig, ip: string): readonly Limited[] {
  const { nearest, wider } = networksOf(ip);
  const own = { bucket: `pages:${nearest}`, limit: pages };
  return wider === undefined ? [own] : [own, { bucket: `pages:${wider}`, limit: busyNetworks * pages }];
}

/** Many accounts of one address count together, up to a ceiling that is far above what one of them may. */
export function limitsOfCaller(
  limits: RateLimitConfig,
  { bucket, tier }: Caller,
  address: () => string,
): readonly Limited[] {
  const own = { bucket, limit: limitOfTier(limits, tier) };
  if (limits.address === 0 || tier === 'enterprise') return [own];
  const { nearest, wider } = networksOf(address());
  const near = { bucket: `keyed:${nearest}`, limit: limits.address };
  return wider === undefined
    ? [own, near]
    : [own, near, { bucket: `keyed:${wider}`, limit: busyNetworks * limits.address }];
}

/**
 * Counts a request under everything that limits it: it passes all of them, or is counted under none. Answers the limit that
 * leaves least room; undefined when nothing limits it. Where there is no Redis, the answer comes at once.
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

/** Throws the 429 when one of the limits is used up. It counts nothing. */
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

/** Writes the RateLimit headers, and refuses what does not pass. */
export function applyDecision(reply: FastifyReply, counted: Counted): void {
  const { limit, decision } = counted;
  const seconds = Math.max(1, Math.ceil(decision.resetMs / 1000));
  reply.header('RateLimit-Policy', `"default";q=${limit};w=${limitWindowMs / 1000}`);
  reply.header('RateLimit', `"default";r=${decision.remaining};t=${seconds}`);
  applyRefusal(counted);
}

/** Throws the 429 when the request does not pass. */
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
