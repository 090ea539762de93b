import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { monotonicClock } from '../clock.ts';
import type { RateLimiter } from '../rate-limit/limiter.ts';
import type { RateLimitConfig } from '../rate-limit/rate-limit-config.ts';
import { clientAddress } from './client-address.ts';
import type { Caller, RequestCount } from './define-route.ts';
import { createInventedKeys } from './invented-keys.ts';
import {
  applyDecision,
  applyRefusal,
  type Counted,
  countRequest,
  type Limited,
  limitsOfAddress,
  limitsOfCaller,
  limitsOfNotices,
  limitsOfPages,
  limitsOfTrials,
  refuseWithoutRoom,
} from './rate-limits.ts';

/** Whoever comes with a bearer token. */
export interface Visit {
  mayAsk(): void | Promise<void>;
  /** Where from. */
  address(): string;
}

/**
 * Finds out who a bearer token belongs to: at once when it is known already or cannot be a key, otherwise by asking the
 * database when `mayAsk` comes back, unless it throws.
 */
export type Authenticate = (token: string, visit: Visit) => Caller | undefined | Promise<Caller | undefined>;

interface DoorOptions {
  readonly config: { readonly rateLimits: RateLimitConfig };
  readonly authenticate: Authenticate;
  readonly limiter: RateLimiter;
}

type Next = (error?: Error) => void;

/** Everything of the API comes through here: who calls, and whether there is room for one more request of theirs. */
export function createApiDoor({ config, authenticate, limiter }: DoorOptions): onRequestHookHandler {
  const { rateLimits } = config;
  const invented = createInventedKeys(monotonicClock);

  return (request, reply, next) => {
    if (request.method === 'OPTIONS') {
      next();
      return;
    }
    const token = bearerToken(request);
    let asking: readonly Limited[] | undefined;
    const mayAsk = () => {
      const limited = limitsOfAddress(rateLimits, addressOf(request));
      const admitted = () => {
        asking = limited;
      };
      const turn = invented.admit(limited);
      return turn instanceof Promise ? turn.then(admitted) : admitted();
    };
    const done: Next = (error) => {
      if (asking !== undefined) invented.leave(asking);
      asking = undefined;
      next(error);
    };
    // Callbacks and not promises: for a known key without Redis the whole hook runs in one go.
    whenSettled(
      () => (token === undefined ? undefined : authenticate(token, { mayAsk, address: () => addressOf(request) })),
      done,
      (caller) => {
        request.caller = caller;
        if (countsItself(request)) {
          done();
          return;
        }
        const limited =
          caller === undefined
            ? limitsOfAddress(rateLimits, addressOf(request))
            : limitsOfCaller(rateLimits, countedAs(request, caller), () => addressOf(request));
        whenSettled(
          () => countRequest(limiter, limited),
          done,
          (counted) => {
            if (counted !== undefined && caller === undefined && token !== undefined) {
              invented.note(counted);
            }
            letIn(reply, counted, done);
          },
        );
      },
    );
  };
}

/** What others tell us of their own accord, such as a wallet provider: only what turns out to be bad counts, for its address. */
export const countsFailures = { config: { countsFailures: true } } as const;

/** Everything else does, except what the API counts and what a load balancer asks all the time. */
export function createPageDoor({ config, limiter }: DoorOptions): onRequestHookHandler {
  return (request, _reply, done) => {
    if (isCountedByFailures(request)) {
      whenSettled(
        () => refuseWithoutRoom(limiter, limitsOfNotices(config.rateLimits, addressOf(request))),
        (error) => {
          // What is refused here was not looked at, and so is no failure to be counted.
          request.isCounted = true;
          done(error);
        },
        () => done(),
      );
      return;
    }
    if (/^\/(?:api(?:[/?]|$)|health(?:\?|$))/.test(request.url)) {
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

/** For a request that was not counted at the door; any other has been counted already. */
export function countLate(
  { config, limiter }: DoorOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): RequestCount {
  const count = async (limited: readonly Limited[]) => {
    if (!countsItself(request)) return undefined;
    request.isCounted = true;
    const counted = await countRequest(limiter, limited);
    if (counted !== undefined) applyDecision(reply, counted);
    return counted;
  };
  return {
    trial: async () => {
      const counted = await count(limitsOfTrials(config.rateLimits, addressOf(request)));
      // It passed, and is still to be counted for whoever it turns out to be of.
      request.isCounted = false;
      return async () => counted?.decision.giveBack();
    },
    payer: async (payer, limit) => void (await count([{ bucket: `payer:${payer.toLowerCase()}`, limit }])),
    shop: async (domain, limit) => void (await count([{ bucket: `shop:${domain}`, limit }])),
    address: async () => {
      const limitsOf = isCountedByFailures(request) ? limitsOfNotices : limitsOfAddress;
      const counted = await count(limitsOf(config.rateLimits, addressOf(request)));
      return async () => counted?.decision.giveBack();
    },
  };
}

/**
 * A request that failed before its route could count it, such as one with a body that cannot be read, counts for its address. Answers
 * the refusal if there is no room for it any more.
 */
export async function countFailed(
  options: DoorOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Error | undefined> {
  if (request.isCounted || !countsItself(request)) return undefined;
  try {
    await countLate(options, request, reply).address();
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/**
 * Whether a route counts this request by itself: nobody shows a key, and somebody says that they pay, or who they are. Who shows a key
 * that is nobody's is counted at the door: by then it has been looked for.
 */
function countsItself(request: FastifyRequest): boolean {
  if (isCountedByFailures(request)) return true;
  const { countsThemselves } = (request.routeOptions.config ?? {}) as { readonly countsThemselves?: readonly string[] };
  return (
    countsThemselves?.some((name) => request.headers[name] !== undefined) === true && bearerToken(request) === undefined
  );
}

function isCountedByFailures({ routeOptions: { config } }: FastifyRequest): boolean {
  return (config as { readonly countsFailures?: true } | undefined)?.countsFailures === true;
}

/** Most requests count for the account. What ends all keys counts for the key that calls, so that another one cannot keep it out. */
function countedAs(request: FastifyRequest, caller: Caller): Caller {
  const { countsKeys } = request.routeOptions.config as { readonly countsKeys?: true };
  return countsKeys === true ? { ...caller, bucket: `key:${caller.keyId}` } : caller;
}

function bearerToken({ headers: { authorization } }: FastifyRequest): string | undefined {
  return authorization === undefined ? undefined : /^Bearer ([\x21-\x7e]+)$/i.exec(authorization)?.[1];
}

export function addressOf({ ip, socket }: FastifyRequest): string {
  return clientAddress(ip, socket.remoteAddress);
}

function letIn(reply: FastifyReply, counted: Counted | undefined, done: Next): void {
  if (counted !== undefined) applyDecision(reply, counted);
  done();
}

/** Goes on at once with a value, and later with a promise; whatever is thrown on the way goes to `fail`. */
function whenSettled<T>(value: () => T | Promise<T>, fail: Next, next: (value: T) => void): void {
  try {
    const found = value();
    if (found instanceof Promise) found.then(next).catch(fail);
    else next(found);
  } catch (error) {
    fail(error as Error);
  }
}
