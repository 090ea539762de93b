import type { z } from 'zod';
import type { Auth, EventKind, Route, RouteRequest, RouteSpec, StreamAnswer } from './define-route.ts';

type EventKinds = Readonly<Record<string, EventKind>>;

type StreamEvent<Kinds extends EventKinds> = {
  [Name in keyof Kinds & string]: { readonly event: Name; readonly data: z.input<Kinds[Name]['schema']> };
}[keyof Kinds & string];

type StreamSpec<A extends Auth, Query, Params, Kinds extends EventKinds> = Omit<
  RouteSpec<A, undefined, Query, Params, never>,
  'method' | 'returns' | 'body' | 'idempotent'
> & {
  readonly description: string;
  /** By event name. Every stream also has `error`: a problem, and the last event. */
  readonly events: Kinds;
};

type Schema = z.ZodType;

export type StreamEvents<Kinds extends EventKinds> = (signal: AbortSignal) => AsyncIterable<StreamEvent<Kinds>>;

/**
 * Declares a route that responds with Server-Sent Events. A failure before the first event is a problem with its status, as
 * elsewhere; a later one is an `error` event that holds the problem.
 */
export function defineStream<
  const A extends Auth,
  const Kinds extends EventKinds,
  Query extends Schema | undefined = undefined,
  Params extends Schema | undefined = undefined,
>(
  { events, ...facts }: StreamSpec<A, Query, Params, Kinds>,
  handle: (request: RouteRequest<A, undefined, Query, Params>) => Promise<StreamEvents<Kinds>>,
): Route {
  return {
    spec: { ...facts, method: 'GET', returns: {}, events },
    handle: async (request: RouteRequest<A, undefined, Query, Params>): Promise<StreamAnswer> => ({
      stream: await handle(request),
    }),
  } as unknown as Route;
}
