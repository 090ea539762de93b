import type { FastifyRequest, onRequestHookHandler } from 'fastify';
import { type Clock, monotonicClock } from '../clock.ts';
import type { RateLimiter } from '../rate-limit/limiter.ts';
import type { RateLimits } from '../rate-limit/rate-limits.ts';
import { clientAddress } from './client-address.ts';
import type { Caller, RequestCount } from './define-route.ts';
import {
  applyDecision,
  applyRefusal,
  type Counted,
  countRequest,
  type Limited,
  limitsOfAddress,
  limitsOfCaller,
  limitsOfNotifications,
  limitsOfPages,
  limitsOfSignatures,
  refuseWithoutRoom,
  tooManyRequests,
} from './rate-limits.ts';

const mostRemembered = 10_000;

/**
 * Remembers addresses and networks that sent an unknown key while already over their rate limit. Until their limit
 * resets, uncached keys from there are not looked up, so guessing keys costs no queries.
 */
interface UnknownKeyGuard {
  /**
   * Throws the 429 while one of these buckets is closed. At most one minute's limit of lookups runs at once and the
   * rest wait; otherwise all keys that arrive before the first refusal would be looked up.
   */
  admit(limited: readonly Limited[]): void | Promise<void>;
  note(counted: Counted): void;
  /** Call it once per admitted request, when its lookup is done. */
  leave(limited: readonly Limited[]): void;
}

interface Lookups {
  underWay: number;
  readonly waiting: (() => void)[];
}

function createUnknownKeyGuard(clock: Clock): UnknownKeyGuard {
  const closed = new Map<string, { readonly until: number; readonly limit: number }>();
  const lookups = new Map<string, Lookups>();

  function refuseClosed(limited: readonly Limited[]): void {
    for (const { bucket } of limited) {
      const found = closed.get(bucket);
      if (found === undefined) continue;
      const resetMs = found.until - clock.now();
      if (resetMs > 0) throw tooManyRequests(found.limit, resetMs);
      closed.delete(bucket);
    }
  }

  async function waitForTurn({ waiting }: Lookups, limited: readonly Limited[]): Promise<void> {
    await new Promise<void>((resolve) => void waiting.push(resolve));
    try {
      refuseClosed(limited);
    } catch (error) {
      leave(limited);
      throw error;
    }
  }

  function leave(limited: readonly Limited[]): void {
    const bucket = limited.at(-1)?.bucket ?? '';
    const found = lookups.get(bucket);
    if (found === undefined) return;
    const next = found.waiting.shift();
    if (next !== undefined) next();
    else if (--found.underWay === 0) lookups.delete(bucket);
  }

  return {
    admit(limited) {
      refuseClosed(limited);
      // The widest network, so that many addresses in it do not multiply the limit.
      const { bucket, limit } = limited.at(-1) ?? { bucket: '', limit: 0 };
      if (limit === 0) return undefined;
      const found = lookups.get(bucket) ?? { underWay: 0, waiting: [] };
      lookups.set(bucket, found);
      if (found.underWay >= limit) return waitForTurn(found, limited);
      found.underWay++;
      return undefined;
    },
    leave,
    note({ bucket, limit, decision }) {
      if (decision.allowed) return;
      const [first] = closed.keys();
      if (closed.size >= mostRemembered && first !== undefined) closed.delete(first);
      closed.set(bucket, { until: clock.now() + decision.resetMs, limit });
    },
  };
}

/** A request with a bearer token, as `Authenticate` sees it. */
export interface KeyLookup {
  mayAsk(): void | Promise<void>;
  address(): string;
}

/**
 * Finds the caller of a bearer token. A cached key or a malformed token is answered at once. Otherwise it looks the
 * key up in the database after `mayAsk` returns; if `mayAsk` throws, there is no lookup.
 */
export type Authenticate = (token: string, visit: KeyLookup) => Caller | undefined | Promise<Caller | undefined>;

interface DoorOptions {
  readonly config: { readonly rateLimits: RateLimits };
  readonly authenticate: Authenticate;
  readonly limiter: RateLimiter;
}

type Next = (error?: Error) => void;

/** The onRequest hook of the API: finds the caller and counts the request against its rate limit. */
export function createApiGuard({ config, authenticate, limiter }: DoorOptions): onRequestHookHandler {
  const { rateLimits } = config;
  const invented = createUnknownKeyGuard(monotonicClock);

  const count = (visit: Visit, caller: Caller | undefined) => {
    const { request } = visit;
    request.caller = caller;
    const counting = countingOf(request);
    if (countsItself(request, counting)) return undefined;
    const limited =
      caller === undefined
        ? limitsOfAddress(rateLimits, addressOf(request))
        : limitsOfCaller(rateLimits, countedAs(counting, caller), visit);
    return countRequest(limiter, limited);
  };

  const decide = ({ request }: Visit, counted: Counted | undefined) => {
    if (counted === undefined) return;
    if (request.caller === undefined && bearerToken(request) !== undefined) invented.note(counted);
    applyDecision(request, counted);
  };

  const finishLater = (visit: Visit, counted: Promise<Counted | undefined>, next: Next) => {
    const done: Next = (error) => {
      visit.leave();
      next(error);
    };
    whenSettled(
      () => counted,
      done,
      (found) => {
        decide(visit, found);
        done();
      },
    );
  };

  return (request, _reply, next) => {
    if (request.method === 'OPTIONS') {
      next();
      return;
    }
    const token = bearerToken(request);
    const visit = new Visit(request, rateLimits, invented);
    // With a cached key and no Redis, the whole hook runs synchronously.
    try {
      const caller = token === undefined ? undefined : authenticate(token, visit);
      const counted = caller instanceof Promise ? caller.then((found) => count(visit, found)) : count(visit, caller);
      if (counted instanceof Promise) {
        finishLater(visit, counted, next);
        return;
      }
      decide(visit, counted);
    } catch (error) {
      visit.leave();
      next(error as Error);
      return;
    }
    visit.leave();
    next();
  };
}

/** For a request that asks for several things at once. */
export async function countAgain({ config, limiter }: DoorOptions, request: FastifyRequest): Promise<void> {
  if (request.caller === undefined) return;
  const counted = await countRequest(
    limiter,
    limitsOfCaller(config.rateLimits, request.caller, { address: () => addressOf(request) }),
  );
  if (counted !== undefined) applyDecision(request, counted);
}

/** Whether the key of a request that has run for long still works. */
export async function isStillKnown({ authenticate }: DoorOptions, request: FastifyRequest): Promise<boolean> {
  const token = bearerToken(request);
  const visit = { mayAsk() {}, address: () => addressOf(request) };
  return token !== undefined && (await authenticate(token, visit)) !== undefined;
}

/** A request whose key is looked up. */
class Visit implements KeyLookup {
  readonly request: FastifyRequest;
  readonly #rateLimits: RateLimits;
  readonly #guard: UnknownKeyGuard;
  #admitted: readonly Limited[] | undefined;

  constructor(request: FastifyRequest, rateLimits: RateLimits, guard: UnknownKeyGuard) {
    this.request = request;
    this.#rateLimits = rateLimits;
    this.#guard = guard;
  }

  mayAsk(): void | Promise<void> {
    const limited = limitsOfAddress(this.#rateLimits, this.address());
    const admit = () => {
      this.#admitted = limited;
    };
    const turn = this.#guard.admit(limited);
    return turn instanceof Promise ? turn.then(admit) : admit();
  }

  address(): string {
    return addressOf(this.request);
  }

  leave(): void {
    if (this.#admitted !== undefined) this.#guard.leave(this.#admitted);
    this.#admitted = undefined;
  }
}

/** For incoming notifications, such as a wallet provider's: only invalid ones count, against the sender's address. */
export const countsFailures = { config: { countsFailures: true } } as const;

/** For an endpoint beside the API that has its guard (server.ts, `ApiAccess`). */
export const countsAsApi = { countsAsApi: true } as const;

/** The onRequest hook for everything outside the API, except the health check of load balancers. */
export function createPageGuard({ config, limiter }: DoorOptions): onRequestHookHandler {
  return (request, _reply, done) => {
    if (isCountedByFailures(request)) {
      whenSettled(
        () => refuseWithoutRoom(limiter, limitsOfNotifications(config.rateLimits, addressOf(request))),
        (error) => {
          // The request is refused unread, so it is not a failure to count.
          request.isCounted = true;
          done(error);
        },
        () => done(),
      );
      return;
    }
    if (/^\/(?:api(?:[/?]|$)|health(?:\?|$))/.test(request.url) || countingOf(request).countsAsApi === true) {
      done();
      return;
    }
    const limited = limitsOfPages(config.rateLimits, addressOf(request));
    whenSettled(
      () => countRequest(limiter, limited),
      done,
      (counted) => {
        if (counted !== undefined) applyRefusal(counted);
        done();
      },
    );
  };
}

/** Counts a request that its route counts itself. Does nothing if the request was already counted. */
export function countInRoute({ config, limiter }: DoorOptions, request: FastifyRequest): RequestCount {
  const count = async (limited: readonly Limited[]) => {
    if (!countsItself(request)) return undefined;
    request.isCounted = true;
    const counted = await countRequest(limiter, limited);
    if (counted !== undefined) applyDecision(request, counted);
    return counted;
  };
  return {
    trial: async () => {
      const counted = await count(limitsOfSignatures(config.rateLimits, addressOf(request)));
      // The trial passed; the request still has to be counted against its actual sender.
      request.isCounted = false;
      return async () => counted?.decision.giveBack();
    },
    payer: async (payer, limit) => void (await count([{ bucket: `payer:${payer.toLowerCase()}`, limit }])),
    shop: async (domain, limit) => void (await count([{ bucket: `shop:${domain}`, limit }])),
    address: async () => {
      const limitsOf = isCountedByFailures(request) ? limitsOfNotifications : limitsOfAddress;
      const counted = await count(limitsOf(config.rateLimits, addressOf(request)));
      return async () => counted?.decision.giveBack();
    },
  };
}

/**
 * Counts a request against its address when it failed before its route could count it, such as one with a malformed
 * body. Returns the 429 if the limit is exceeded.
 */
export async function countFailedRequest(options: DoorOptions, request: FastifyRequest): Promise<Error | undefined> {
  if (request.isCounted || !countsItself(request)) return undefined;
  try {
    await countInRoute(options, request).address();
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/**
 * Whether the route counts this request itself: it carries a payment or a signature, and no key. A request with an
 * unknown key is counted in the hook, because looking up the key already cost a query.
 */
function countsItself(request: FastifyRequest, counting = countingOf(request)): boolean {
  if (counting.countsFailures === true) return true;
  return (
    counting.countsThemselves?.some((name) => request.headers[name] !== undefined) === true &&
    bearerToken(request) === undefined
  );
}

/** How a route wants its requests counted. */
interface Counting {
  readonly countsThemselves?: readonly string[];
  readonly countsKeys?: true;
  readonly countsAsApi?: true;
  readonly countsFailures?: true;
}

/** Fastify builds `routeOptions` anew whenever it is read. */
function countingOf({ routeOptions }: FastifyRequest): Counting {
  return (routeOptions.config ?? {}) as Counting;
}

function isCountedByFailures(request: FastifyRequest): boolean {
  return countingOf(request).countsFailures === true;
}

/**
 * Requests count against the account. A route that revokes all keys counts against the calling key, so that a stolen
 * key cannot use up the owner's limit.
 */
function countedAs({ countsKeys }: Counting, caller: Caller): Caller {
  return countsKeys === true ? { ...caller, bucket: `key:${caller.keyId}` } : caller;
}

function bearerToken({ headers: { authorization } }: FastifyRequest): string | undefined {
  return authorization === undefined ? undefined : /^Bearer ([\x21-\x7e]+)$/i.exec(authorization)?.[1];
}

export function addressOf({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  return clientAddress(ip, socket.remoteAddress);
}

/** Continues synchronously with a value and later with a promise. Errors go to `fail`. */
function whenSettled<T>(value: () => T | Promise<T>, fail: Next, next: (value: T) => void): void {
  try {
    const found = value();
    if (found instanceof Promise) found.then(next).catch(fail);
    else next(found);
  } catch (error) {
    fail(error as Error);
  }
}
