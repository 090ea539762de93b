import { setTimeout as sleepFor } from 'node:timers/promises';
import type { Clock } from '../../kernel/clock.ts';
import { networksOf } from '../../kernel/http/client-address.ts';
import { applyRefusal, countRequest, limitsOfAddress } from '../../kernel/http/rate-limits.ts';
import type { RateLimitDecision, RateLimiter } from '../../kernel/rate-limit/limiter.ts';
import type { RateLimits } from '../../kernel/rate-limit/rate-limits.ts';
import { setNewest } from '../../kernel/set-newest.ts';
import { accountErrors } from '../errors.ts';
import { createDelayQueue, type DelayQueueLimits } from './delay-queue.ts';
import type { Passwords } from './passwords.ts';

const rememberedMs = 30 * 24 * 3_600_000;
const mostRemembered = 50_000;

/** Networks from which an account recently signed in successfully. A forgotten one costs its owner a short delay at most. */
function createRecentNetworks(clock: Clock) {
  const seen = new Map<string, number>();
  return {
    remember(accountId: bigint, network: string) {
      setNewest(seen, `${accountId} ${network}`, clock.now(), mostRemembered);
    },
    has(accountId: bigint, network: string) {
      const at = seen.get(`${accountId} ${network}`);
      return at !== undefined && at > clock.now() - rememberedMs;
    },
  };
}

const windowMs = 15 * 60_000;

/** Failures within the window that cost nothing, the delay of the next one, and the limit to which the delay doubles. */
interface Slowing {
  readonly free: number;
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Totals over many accounts or networks are mostly other people's failures, so they cause only short delays. */
const totals = {
  address: { free: 30, firstMs: 250, longestMs: 4_000 },
  network: { free: 120, firstMs: 250, longestMs: 4_000 },
  account: { free: 50, firstMs: 250, longestMs: 2_000 },
} as const satisfies Record<string, Slowing>;

/** As many attempts of one network may wait, for different accounts, as its rate limit admits in a minute. */
const usualBounds: DelayQueueLimits = { perLine: 2, perNetwork: 64, inAll: 1_000 };

interface PasswordAttempt {
  readonly accountId: bigint;
  readonly ip: string;
  readonly hash: string;
  readonly password: string;
}

/**
 * Slows down password guessing. Failures are counted by account and network. From another network the correct password
 * is never refused, and from a network with a recent successful sign-in it is not even delayed by other people's
 * failures.
 */
export interface SignInThrottle {
  /** Whether the password is correct, checked in turn. Throws 429 only when too many attempts of this network already wait. */
  matches(attempt: PasswordAttempt): Promise<boolean>;
  /** A request with a key is not counted against its address, but creating accounts must be. */
  admitRegistration(ip: string): Promise<void>;
}

export interface SignInThrottleParts {
  readonly limiter: RateLimiter;
  readonly rateLimits: RateLimits;
  readonly passwords: Pick<Passwords, 'inTurn'>;
  readonly longestDelayMs: number;
  readonly clock: Clock;
  readonly sleep?: (ms: number) => Promise<unknown>;
  readonly bounds?: DelayQueueLimits;
}

export function createSignInThrottle(parts: SignInThrottleParts): SignInThrottle {
  const { limiter, rateLimits, passwords, longestDelayMs, clock, sleep = sleepFor, bounds = usualBounds } = parts;
  const known = createRecentNetworks(clock);
  const room = createDelayQueue(bounds, async (ms) => void (await sleep(ms)));
  const pair: Slowing = { free: 5, firstMs: 500, longestMs: longestDelayMs };

  /** Counted in turn and before the password is checked, so that parallel attempts gain nothing. Given back when it is correct. */
  async function count({ accountId, ip }: PasswordAttempt) {
    const { nearest, wider } = networksOf(ip);
    const taken: RateLimitDecision[] = [];
    const take = async (bucket: string, slowing: Slowing) => {
      const limit = slowing.free + Math.ceil(Math.log2(slowing.longestMs / slowing.firstMs)) + 1;
      const decision = await limiter.take(`sign-in:${bucket}`, { limit, windowMs });
      taken.push(decision);
      return delayAfter(decision.allowed ? limit - decision.remaining - 1 : limit, slowing);
    };
    const own = await take(`${accountId}:${nearest}`, pair);
    const ofAddress = await take(`ip:${nearest}`, totals.address);
    const ofNetwork = wider === undefined ? 0 : await take(`ip:${wider}`, totals.network);
    const ofAccount = await take(`account:${accountId}`, totals.account);
    const isKnown = known.has(accountId, nearest);
    const spray = isKnown ? 0 : Math.max(ofAddress, ofNetwork);
    return {
      network: nearest,
      // Queued by account as well: other accounts' failures cause a short delay, never a refusal.
      line: `${accountId} ${nearest}`,
      delayMs: Math.max(own, spray, isKnown ? 0 : ofAccount),
      async giveBack() {
        for (const decision of taken) await decision.giveBack();
      },
    };
  }

  type Looked = { readonly right: boolean } | { readonly wait: Awaited<ReturnType<typeof count>> };

  function look(attempt: PasswordAttempt, patience: 'none' | 'has waited'): Promise<Looked> {
    const { nearest } = networksOf(attempt.ip);
    return passwords.inTurn(nearest, async (matches): Promise<Looked> => {
      const counted = await count(attempt);
      if (patience === 'none' && counted.delayMs > 0) {
        await counted.giveBack();
        return { wait: counted };
      }
      if (!(await matches(attempt.hash, attempt.password))) return { right: false };
      await counted.giveBack();
      known.remember(attempt.accountId, nearest);
      return { right: true };
    });
  }

  return {
    async matches(attempt) {
      const first = await look(attempt, 'none');
      if ('right' in first) return first.right;
      const second = await room.wait(first.wait, () => look(attempt, 'has waited'));
      if (second === undefined) throw tooMany(first.wait.delayMs);
      return 'right' in second && second.right;
    },

    async admitRegistration(ip) {
      const counted = await countRequest(limiter, limitsOfAddress(rateLimits, ip));
      if (counted !== undefined) applyRefusal(counted);
    },
  };
}

function delayAfter(failures: number, { free, firstMs, longestMs }: Slowing): number {
  return failures < free ? 0 : Math.min(longestMs, firstMs * 2 ** (failures - free));
}

function tooMany(delayMs: number) {
  const seconds = Math.max(1, Math.ceil(delayMs / 1000));
  return accountErrors.too_many_attempts(
    `Your network sent too many wrong passwords. Try again in ${seconds} seconds.`,
    { headers: { 'Retry-After': String(seconds) } },
  );
}
