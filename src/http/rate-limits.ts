import type { FastifyReply } from 'fastify';
import type { RateLimitConfig } from '../config.ts';
import type { RateLimitDecision, RateLimiter } from '../rate-limit/limiter.ts';
import { addressBucket } from './client-address.ts';
import type { Caller } from './define-route.ts';
import { httpErrors } from './errors.ts';

export const limitWindowMs = 60_000;

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

/** Counts a request against its account, or without a key against its address. Undefined when nothing limits it. */
export function countRequest(
  limiter: RateLimiter,
  limits: RateLimitConfig,
  caller: Caller | undefined,
  ip: () => string,
): { readonly limit: number; readonly decision: RateLimitDecision | Promise<RateLimitDecision> } | undefined {
  const limit = caller === undefined ? limits.anonymous : limitOfTier(limits, caller.tier);
  if (limit === 0) return undefined;
  const bucket = caller === undefined ? addressBucketOf(ip()) : caller.bucket;
  return { limit, decision: limiter.take(bucket, { limit, windowMs: limitWindowMs }) };
}

/** What requests from an address are counted under. */
export function addressBucketOf(ip: string): string {
  return `ip:${addressBucket(ip)}`;
}

/** Writes the RateLimit headers, and refuses what does not pass. */
export function applyDecision(reply: FastifyReply, limit: number, decision: RateLimitDecision): void {
  const seconds = Math.max(1, Math.ceil(decision.resetMs / 1000));
  reply.header('RateLimit-Policy', `"default";q=${limit};w=${limitWindowMs / 1000}`);
  reply.header('RateLimit', `"default";r=${decision.remaining};t=${seconds}`);
  applyRefusal(limit, decision);
}

/** Throws the 429 when the request does not pass. */
export function applyRefusal(limit: number, decision: RateLimitDecision): void {
  if (decision.allowed) return;
  const seconds = Math.max(1, Math.ceil(decision.resetMs / 1000));
  throw httpErrors.rate_limited(
    `${limit} requests a minute are allowed here. Wait ${seconds} ${seconds === 1 ? 'second' : 'seconds'} and try again.`,
    { headers: { 'Retry-After': String(seconds) } },
  );
}
