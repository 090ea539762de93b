import type { z } from 'zod';
import type { ErrorKind } from './problem.ts';

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** Who is calling: the account behind a valid API key, and that key. */
export interface Caller {
  readonly accountId: bigint;
  readonly keyId: string;
  readonly handle: string;
  readonly tier: 'free' | 'pro' | 'enterprise';
  /** What the key may do. */
  readonly scopes: readonly Scope[];
  /** What this caller's requests are counted under. */
  readonly bucket: string;
}

/** Identifies a request that may be sent again: the client's key, and a fingerprint of what it asked for. */
export interface IdempotencyClaim {
  readonly key: string;
  readonly requestHash: Buffer;
  /** What the same request may have been hashed to before. */
  readonly formerHashes?: () => readonly Buffer[];
}

export type Auth = 'key' | 'none';

/** What a key may be allowed to do: look, pay from the balance, send money outside, look after the account. */
export const scopes = ['read', 'pay', 'withdraw', 'manage'] as const;

export type Scope = (typeof scopes)[number];

/**
 * A route with a key says what the key must be allowed to do, or `any` if every key may. A route without one has something to say
 * only where a key may take the place of something else, such as a payment.
 */
type Access<A extends Auth> = A extends 'key'
  ? { readonly auth: A; readonly scope: Scope | 'any'; readonly scopeOfKey?: never }
  : { readonly auth: A; readonly scope?: never; readonly scopeOfKey?: Scope };

type Schema = z.ZodType;
type Output<S> = S extends Schema ? z.output<S> : undefined;
type Input<S> = S extends Schema ? z.input<S> : never;

/** One way a route succeeds. */
interface Success {
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
  /** The same answer in other forms, such as text/csv: the media type and an example. */
  readonly alternatives?: Readonly<Record<string, string>>;
  /**
   * The member that may hold more than should ever be in memory: a list, and the last of the schema. Its handler gives it bit by
   * bit, and it is sent as fast as the client reads (long-answers.ts).
   */
  readonly long?: string;
}
type Successes = Readonly<Record<number, Success>>;

export interface RouteRequest<A extends Auth, Body, Query, Params> {
  readonly body: Output<Body>;
  readonly query: Output<Query>;
  readonly params: Output<Params>;
  readonly caller: A extends 'key' ? Caller : Caller | undefined;
  readonly idempotency: IdempotencyClaim | undefined;
  readonly requestId: string;
  /** The Accept header, for routes whose answer has several forms. */
  readonly accept: string;
  /** The address the request came from, behind trusted proxies the one they name. */
  readonly ip: string;
  /** As it came, for routes that check a signature over it. */
  readonly received: ReceivedRequest;
  /** A header of the request, by its name in lower case. */
  header(name: string): string | undefined;
  /** Only for routes that say `countsThemselves`. */
  readonly count: RequestCount;
}

/** A request before anything was made of it. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path and query as they stood in the first line. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
}

/** Counts a request that was not counted at the door, against whoever it turns out to be of. Throws the 429. */
export interface RequestCount {
  /** Who has paid for it, and how many requests a minute that allows; 0 is unlimited. */
  payer(payer: string, limit: number): Promise<void>;
  /** The shop whose signature was verified, by its domain. */
  shop(domain: string, limit: number): Promise<void>;
  /** Before anything is verified, which takes time: so often an address may be wrong. The answer takes it out of the count again. */
  trial(): Promise<() => Promise<void>>;
  /** The address that it came from: nobody has paid for it. The answer takes it out of the count again. */
  address(): Promise<() => Promise<void>>;
}

export type Answer<Returns extends Successes> = {
  [Status in keyof Returns & number]: Returns[Status] extends { readonly long: infer Name extends string }
    ? LongAnswer<Status, z.input<Returns[Status]['schema']>, Name>
    : {
        readonly status: Status;
        readonly body: z.input<Returns[Status]['schema']>;
        /** Beside those that every answer has. */
        readonly headers?: Readonly<Record<string, string>>;
      };
}[keyof Returns & number];

/** An answer with its long list left out, and what is in the list, some items at a time. */
interface LongAnswer<Status, Body, Name extends string> {
  readonly status: Status;
  readonly long: {
    readonly head: Omit<Body, Name>;
    readonly items: () => AsyncIterable<Name extends keyof Body ? Readonly<Body[Name]> : never>;
  };
}

/** An answer in one of its declared alternative forms, piece by piece. */
export interface TextAnswer {
  readonly status: 200;
  readonly text: { readonly type: string; readonly pieces: () => AsyncIterable<string> };
}

/** A long answer, as the kernel takes it. */
export interface AnyLongAnswer {
  readonly status: number;
  readonly long: { readonly head: unknown; readonly items: () => AsyncIterable<readonly unknown[]> };
}

/** One kind of event of a stream. */
export interface EventKind {
  readonly description: string;
  readonly schema: z.ZodType;
  readonly example: unknown;
}

/** An answer that goes on: events until there are no more, or until the signal says that nobody listens. */
export interface StreamAnswer {
  readonly stream: (signal: AbortSignal) => AsyncIterable<{ readonly event: string; readonly data: unknown }>;
}

interface RouteFacts<Body, Query, Params, Returns extends Successes> {
  /** The operationId: how tools name this operation. */
  readonly id: string;
  readonly method: Method;
  /** Relative to the API prefix; parameters are written `:name`. */
  readonly path: `/${string}`;
  /** The chapter of the reference that it stands in. */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly body?: Body;
  readonly query?: Query;
  readonly params?: Params;
  readonly examples?: { readonly body?: Input<Body>; readonly query?: Input<Query>; readonly params?: Input<Params> };
  readonly returns: Returns;
  readonly errors?: readonly ErrorKind[];
  /** Takes an Idempotency-Key: the first success is answered again to the same request. */
  readonly idempotent?: true;
  /**
   * A request without a key that carries one of these headers is not counted at the door but by the route itself, as soon as
   * it is known who pays for it or has signed it. If it fails before that, it counts for its address.
   */
  readonly countsThemselves?: readonly string[];
  /**
   * Counted by key, apart from what else the account does: whoever has a stolen key could otherwise use up the account's requests, and
   * its owner could not end it. For what no key can call again and again.
   */
  readonly countsKeys?: true;
}

export type RouteSpec<A extends Auth, Body, Query, Params, Returns extends Successes> = Access<A> &
  RouteFacts<Body, Query, Params, Returns>;

/** A declared route, as the server, the OpenAPI document and the reference read it. */
export interface Route {
  readonly spec: RouteSpec<Auth, Schema | undefined, Schema | undefined, Schema | undefined, Successes> & {
    /** Only of a stream (define-stream.ts), which has these instead of `returns`. */
    readonly events?: Readonly<Record<string, EventKind>>;
  };
  handle(
    request: unknown,
  ): Promise<
    | { readonly status: number; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> }
    | AnyLongAnswer
    | TextAnswer
    | StreamAnswer
  >;
}

/**
 * Declares a route once. From the declaration come validation, the handler's types, the OpenAPI document, the
 * reference, and the check that an answer holds nothing that was not declared.
 */
export function defineRoute<
  const A extends Auth,
  const Returns extends Successes,
  Body extends Schema | undefined = undefined,
  Query extends Schema | undefined = undefined,
  Params extends Schema | undefined = undefined,
>(
  spec: RouteSpec<A, Body, Query, Params, Returns>,
  handle: (request: RouteRequest<A, Body, Query, Params>) => Promise<Answer<Returns> | TextAnswer>,
): Route {
  return { spec, handle } as unknown as Route;
}

/** The usual answer. */
export function ok<const Body>(body: Body): { readonly status: 200; readonly body: Body } {
  return { status: 200, body };
}

export function created<const Body>(body: Body): { readonly status: 201; readonly body: Body } {
  return { status: 201, body };
}
