import type { z } from 'zod';
import type { Auth, EventKind, Route, RouteRequest, RouteSpec, StreamAnswer } from './define-route.ts';

type EventKinds = Readonly<Record<string, EventKind>>;

/** An event as a handler gives it: its name and, checked against the declaration, what it says. */
type StreamEvent<Kinds extends EventKinds> = {
  [Name in keyof Kinds & string]: { readonly event: Name; readonly data: z.input<Kinds[Name]['schema']> };
}[keyof Kinds & string];

type StreamSpec<A extends Auth, Query, Params, Kinds extends EventKinds> = Omit<
  RouteSpec<A, undefined, Query, Params, never>,
  'method' | 'returns' | 'body' | 'idempotent'
> & {
  readonly description: string;
  /** What it tells, by the name of the event. `error` is every stream's: a problem, after which nothing comes. */
  readonly events: Kinds;
};

type Schema = z.ZodType;

/** What a handler returns: it tells one event after the other until it is done or the signal says that nobody listens. */
export type Telling<Kinds extends EventKinds> = (signal: AbortSignal) => AsyncIterable<StreamEvent<Kinds>>;

/**
 * Declares a route that answers with Server-Sent Events. What is refused before the first event is a problem with its
 * status, as everywhere; what fails later is an `error` event with the same problem in it.
 */
export function defineStream<
  const A extends Auth,
  const Kinds extends EventKinds,
  Query extends Schema | undefined = undefined,
  Params extends Schema | undefined = undefined,
>(
  { events, ...facts }: StreamSpec<A, Query, Params, Kinds>,
  handle: (request: RouteRequest<A, undefined, Query, Params>) => Promise<Telling<Kinds>>,
): Route {
  return {
    spec: { ...facts, method: 'GET', returns: {}, events },
    handle: async (request: RouteRequest<A, undefined, Query, Params>): Promise<StreamAnswer> => ({
      stream: await handle(request),
    }),
  } as unknown as Route;
}
