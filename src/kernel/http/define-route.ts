import type { z } from 'zod';
import type { DuplicateGuard } from './duplicate-guard.ts';
import type { ErrorKind } from './problem.ts';
import type { Tool } from './tool.ts';

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** The account behind a valid API key, and that key. */
export interface Caller {
  readonly accountId: bigint;
  readonly keyId: string;
  readonly handle: string;
  readonly tier: 'free' | 'pro' | 'enterprise';
  readonly scopes: readonly Scope[];
  /** The rate-limit bucket of this caller. */
  readonly bucket: string;
  /**
   * Counts the changes of the account's policies, as this instance knows it: 0 when it never had any. Left out when the
   * database must be asked.
   */
  readonly stamp?: bigint;
  /** The account wants every payment guarded. */
  readonly duplicateGuard?: boolean;
  /** What the owner is asked, or has decided, about this request (src/policies/approvals/). */
  readonly approval?: object;
}

/** The client's Idempotency-Key, and a fingerprint of the request that it was sent with. */
export interface IdempotencyClaim {
  readonly key: string;
  /** At least 32 hex digits. */
  readonly requestHash: string;
  /** Hashes that the same request had under replaced secrets. */
  readonly formerHashes?: () => readonly string[];
}

export type Auth = 'key' | 'none';

export const scopes = ['read', 'pay', 'withdraw', 'manage'] as const;

export type Scope = (typeof scopes)[number];

/**
 * A route with a key names the scope that the key needs, or `any`. A route without one names `scopeOfKey` where an optional key
 * replaces something else, such as a payment.
 */
type Access<A extends Auth> = A extends 'key'
  ? { readonly auth: A; readonly scope: Scope | 'any'; readonly scopeOfKey?: never }
  : { readonly auth: A; readonly scope?: never; readonly scopeOfKey?: Scope };

type Schema = z.ZodType;
type Output<S> = S extends Schema ? z.output<S> : undefined;
type Input<S> = S extends Schema ? z.input<S> : never;

export interface Success {
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
  /** Other formats of the response, such as text/csv, with an example each. */
  readonly alternatives?: Readonly<Record<string, string>>;
  /**
   * A list that may be too large for memory, and the last member of the schema. The handler yields it in parts, which are sent
   * as fast as the client reads (long-answers.ts).
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
  /** Of a payment that must not repeat another one. */
  readonly guard: DuplicateGuard | undefined;
  readonly requestId: string;
  /** The Accept header, for routes with several response formats. */
  readonly accept: string;
  /** The client's address; behind trusted proxies, the address that they forward. */
  readonly ip: string;
  /** The raw request, for routes that verify a signature over it. */
  readonly received: ReceivedRequest;
  /** Aborted when the client has hung up, for a handler that waits. */
  readonly gone: AbortSignal;
  /** Takes the header's name in lower case. */
  header(name: string): string | undefined;
  /** Only for routes with `countsThemselves`. */
  readonly count: RequestCount;
}

export interface ReceivedRequest {
  readonly method: string;
  /** Path and query as in the request line. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
}

/** Counts a request against a rate limit once the route knows its caller. Each method throws the 429. */
export interface RequestCount {
  /** `limit` is in requests a minute; 0 is unlimited. */
  payer(payer: string, limit: number): Promise<void>;
  /** The shop whose signature was verified, by its domain. */
  shop(domain: string, limit: number): Promise<void>;
  /** Limits failed attempts per address, before the costly verification. The returned function undoes the count. */
  trial(): Promise<() => Promise<void>>;
  /** For unpaid requests. The returned function undoes the count. */
  address(): Promise<() => Promise<void>>;
}

export type Answer<Returns extends Successes> = {
  [Status in keyof Returns & number]: Returns[Status] extends { readonly long: infer Name extends string }
    ? LongAnswer<Status, z.input<Returns[Status]['schema']>, Name>
    : {
        readonly status: Status;
        readonly body: z.input<Returns[Status]['schema']>;
        readonly headers?: Readonly<Record<string, string>>;
      };
}[keyof Returns & number];

/** A response without its long list, and the items of that list in batches. */
interface LongAnswer<Status, Body, Name extends string> {
  readonly status: Status;
  readonly long: {
    readonly head: Omit<Body, Name>;
    readonly items: () => AsyncIterable<Name extends keyof Body ? Readonly<Body[Name]> : never>;
  };
}

/** A response in one of its declared alternative formats, in pieces. */
export interface TextAnswer {
  readonly status: 200;
  readonly text: { readonly type: string; readonly pieces: () => AsyncIterable<string> };
}

export interface AnyLongAnswer {
  readonly status: number;
  readonly long: { readonly head: unknown; readonly items: () => AsyncIterable<readonly unknown[]> };
}

export interface EventKind {
  readonly description: string;
  readonly schema: z.ZodType;
  readonly example: unknown;
}

/** Yields events until it is done, or until the signal says that the client has gone. */
export interface StreamAnswer {
  readonly stream: (signal: AbortSignal) => AsyncIterable<{ readonly event: string; readonly data: unknown }>;
}

interface RouteFacts<Body, Query, Params, Returns extends Successes> {
  /** The operationId of OpenAPI. */
  readonly id: string;
  readonly method: Method;
  /** Relative to the API prefix; parameters are written `:name`. */
  readonly path: `/${string}`;
  /** The chapter of the reference. */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Set where a model may choose the operation. */
  readonly tool?: Tool;
  readonly body?: Body;
  readonly query?: Query;
  readonly params?: Params;
  readonly examples?: { readonly body?: Input<Body>; readonly query?: Input<Query>; readonly params?: Input<Params> };
  readonly returns: Returns;
  readonly errors?: readonly ErrorKind[];
  /** The answer, with status 202, when a policy asks the owner first. The handler may then run again, without its connection. */
  readonly asks?: Success;
  /** The values of `status` in the response that do not change by themselves any more. */
  readonly final?: readonly string[];
  /** Accepts an Idempotency-Key: a retry gets the first successful response. */
  readonly idempotent?: true;
  /** Takes the header Duplicate-Guard. The body has `notDuplicateOf`, and the handler refuses repetitions. */
  readonly guarded?: true;
  /** Takes If-Match with the entity tag of what it changes. The handler compares it. */
  readonly ifMatch?: true;
  /** Success carries an ETag. The handler sets it. */
  readonly etag?: true;
  /**
   * The route itself counts a request without a key that carries one of these headers, once it knows the payer or signer. If the
   * request fails earlier, it counts against its address.
   */
  readonly countsThemselves?: readonly string[];
  /**
   * Rate-limited per key instead of per account. Otherwise a thief with a stolen key could use up the account's requests, so that its
   * owner could not revoke that key. Only for operations that a key cannot repeat endlessly.
   */
  readonly countsKeys?: true;
}

export type RouteSpec<A extends Auth, Body, Query, Params, Returns extends Successes> = Access<A> &
  RouteFacts<Body, Query, Params, Returns>;

export interface Route {
  readonly spec: RouteSpec<Auth, Schema | undefined, Schema | undefined, Schema | undefined, Successes> & {
    /** Streams (define-stream.ts) have these instead of `returns`. */
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
 * Declares a route once. The declaration yields validation, the handler's types, the OpenAPI document, the reference, and the
 * check that a response has only declared members.
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

export function ok<const Body>(body: Body): { readonly status: 200; readonly body: Body } {
  return { status: 200, body };
}

export function created<const Body>(body: Body): { readonly status: 201; readonly body: Body } {
  return { status: 201, body };
}
