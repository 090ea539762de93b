import type { FastifyRequest } from 'fastify';
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
  from: { address(): string },
): readonly Limited[] {
  const own = { bucket, limit: limitOfTier(limits, tier) };
  if (limits.address === 0 || tier === 'enterprise') return [own];
  const [nearest, wider] = sharedLimits(from.address(), limits.address);
  return wider === undefined ? [own, nearest] : [own, nearest, wider];
}

type SharedLimits = readonly [nearest: Limited, wider?: Limited];

const mostRemembered = 10_000;
const shared = new Map<string, SharedLimits>();

/** Remembered, because the same few addresses send nearly all requests. */
function sharedLimits(ip: string, limit: number): SharedLimits {
  const known = shared.get(ip);
  if (known !== undefined && known[0].limit === limit) return known;
  const found = limitsPerNetwork(ip, limit).map((each) => ({ bucket: `keyed:${each.network}`, limit: each.limit }));
  if (shared.size >= mostRemembered) shared.clear();
  shared.set(ip, found as unknown as SharedLimits);
  return found as unknown as SharedLimits;
}

/**
 * Counts a request against all of its limits, or against none if one is exceeded. Returns the tightest limit, or
 * undefined when none applies. Synchronous without Redis.
 */
export function countRequest(
  limiter: RateLimiter,
  limited: readonly Limited[],
  taken: Counted[] = [],
): Counted | undefined | Promise<Counted | undefined> {
  for (let at = 0; at < limited.length; at++) {
    const { bucket, limit } = limited[at] as Limited;
    if (limit === 0) continue;
    const decision = limiter.take(bucket, { limit, windowMs: limitWindowMs });
    if (decision instanceof Promise) {
      return decision.then((late) =>
        late.allowed
          ? countRequest(limiter, limited.slice(at + 1), [...taken, { bucket, limit, decision: late }])
          : refused({ bucket, limit, decision: late }, taken),
      );
    }
    const counted = { bucket, limit, decision };
    if (!decision.allowed) return refused(counted, taken);
    taken.push(counted);
  }
  return taken.length > 1 ? tightestOf(taken) : taken[0];
}

/** The limit that refuses the request. The others do not count it. */
function refused(counted: Counted, taken: readonly Counted[]): Counted | Promise<Counted> {
  const given = taken.map(({ decision }) => decision.giveBack()).filter((back) => back instanceof Promise);
  return given.length === 0 ? counted : Promise.all(given).then(() => counted);
}

function tightestOf(taken: readonly Counted[]): Counted {
  const tightest = taken.reduce((a, b) => (b.decision.remaining < a.decision.remaining ? b : a));
  const { allowed, remaining, resetMs } = tightest.decision;
  const giveBack = async () => {
    for (const { decision } of taken) await decision.giveBack();
  };
  return { bucket: tightest.bucket, limit: tightest.limit, decision: { allowed, remaining, resetMs, giveBack } };
}

/** Throws the 429 when a limit is exhausted, without counting. */
export async function refuseWithoutRoom(limiter: RateLimiter, limited: readonly Limited[]): Promise<void> {
  for (const { bucket, limit } of limited.filter((each) => each.limit > 0)) {
    const room = await limiter.peek(bucket, { limit, windowMs: limitWindowMs });
    if (!room.allowed) throw tooManyRequests(limit, room.resetMs);
  }
}

/** Keeps the decision for the response headers, and throws the 429 when the limit is exceeded. */
export function applyDecision(request: FastifyRequest, counted: Counted): void {
  request.counted = counted;
  applyRefusal(counted);
}

/** Names and values in turn. */
export function rateLimitHeaders({ limit, decision }: Counted): [string, string, string, string] {
  const seconds = Math.max(1, Math.ceil(decision.resetMs / 1000));
  return [
    'ratelimit-policy',
    `"default";q=${limit};w=${limitWindowMs / 1000}`,
    'ratelimit',
    `"default";r=${decision.remaining};t=${seconds}`,
  ];
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
