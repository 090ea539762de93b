import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { withPresentCaller } from './caller-changed.ts';
import { checkedJson } from './checked-json.ts';
import { whenHungUp } from './client-gone.ts';
import type {
  AnyLongAnswer,
  Auth,
  Caller,
  IdempotencyClaim,
  ReceivedRequest,
  RequestCount,
  Route,
  RouteRequest,
} from './define-route.ts';
import { type DuplicateGuard, readGuard } from './duplicate-guard.ts';
import { httpErrors } from './errors.ts';
import type { EventStreams } from './event-streams.ts';
import { claimOf, type RequestHashes, requireIdempotencyKey } from './idempotency-claim.ts';
import type { LongAnswers } from './long-answers.ts';
import { refuseUnstorableText } from './parse-body.ts';
import { parseQuery } from './parse-query.ts';
import type { KeptRequest, RouteAnswer } from './repeat-request.ts';
import { addressOf } from './request-guards.ts';
import { requireScope } from './require-scope.ts';
import { sendJson } from './response-headers.ts';
import { validate } from './validate.ts';
import { withoutNulls } from './without-nulls.ts';

/** A refused request of a route with `asks`. */
export interface RefusedRequest {
  readonly route: Route;
  readonly request: KeptRequest;
  readonly caller: Caller;
}

/** Turns a refusal into a question for the owner, or throws it. */
export type AskOwner = (refusal: unknown, refused: RefusedRequest) => Promise<RouteAnswer>;

export interface RunParts {
  readonly streams: EventStreams;
  readonly longAnswers: LongAnswers;
  readonly secrets: RequestHashes;
  readonly publicUrl: () => string;
  readonly countIn: (request: FastifyRequest) => RequestCount;
  readonly askOwner?: AskOwner | undefined;
}

/** What a route reads of its request. A call from within the service has no connection of its own. */
export type IncomingRequest = Pick<
  FastifyRequest,
  'id' | 'method' | 'url' | 'originalUrl' | 'headers' | 'params' | 'body' | 'bytes' | 'caller' | 'ip' | 'socket'
> & { readonly gone?: AbortSignal };

/** What a handler gets. Every request makes one, so what few handlers read is made only when it is read. */
class HandledRequest
  implements RouteRequest<Auth, z.ZodType | undefined, z.ZodType | undefined, z.ZodType | undefined>
{
  readonly body: unknown;
  readonly query: unknown;
  readonly params: unknown;
  readonly idempotency: IdempotencyClaim | undefined;
  readonly guard: DuplicateGuard | undefined;
  readonly caller: Caller | undefined;
  readonly requestId: string;
  readonly #request: IncomingRequest;
  readonly #countIn: RunParts['countIn'];

  constructor({ spec }: Route, request: IncomingRequest, caller: Caller | undefined, { secrets, countIn }: RunParts) {
    this.body = validate('body', spec.body, readBody(spec, request));
    this.query = spec.query && validate('query', spec.query, parseQuery(request.url));
    this.params = spec.params && validate('params', spec.params, storable(request.params));
    this.idempotency = spec.idempotent && readClaim(spec.id, request, this.body, secrets);
    this.guard = spec.guarded && readGuard(request.headers['duplicate-guard'], this.body as object | undefined, caller);
    this.caller = caller;
    this.requestId = request.id;
    this.#request = request;
    this.#countIn = countIn;
  }

  get accept(): string {
    return this.#request.headers.accept ?? '';
  }

  get ip(): string {
    return addressOf(this.#request);
  }

  get received(): ReceivedRequest {
    const { method, originalUrl, headers, bytes } = this.#request;
    return { method, target: originalUrl, headers, body: bytes ?? new Uint8Array() };
  }

  get gone(): AbortSignal {
    return this.#request.gone ?? whenHungUp(this.#request.socket);
  }

  /** A function of its own, because handlers take it apart from the request. */
  get header(): (name: string) => string | undefined {
    const { headers } = this.#request;
    return (name) => {
      const value = headers[name];
      return Array.isArray(value) ? value.join(', ') : value;
    };
  }

  get count(): RequestCount {
    // A route that counts its requests itself is never called from within the service.
    return this.#countIn(this.#request as FastifyRequest);
  }
}

/** One request, top to bottom: check the key, read the request, run the handler, check the answer. */
export async function runRoute(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  parts: RunParts,
): Promise<FastifyReply> {
  const answer = await answerRequest(route, request, parts);

  const headers = 'headers' in answer ? answer.headers : undefined;
  const isReplay = 'replayed' in answer;
  if ('body' in answer && headers === undefined && !isReplay) {
    return sendJson(request, reply, parts.publicUrl(), { status: answer.status, text: checkedJson(route, answer) });
  }
  if (headers !== undefined) reply.headers(headers);
  if (isReplay) reply.header('Idempotency-Replayed', 'true');
  if ('stream' in answer) return parts.streams.send(route, answer, request, reply);
  if ('text' in answer || 'long' in answer) return parts.longAnswers.send(route, answer, request, reply);
  return reply.code(answer.status).type('application/json; charset=utf-8').send(checkedJson(route, answer));
}

type Handled = Awaited<ReturnType<Route['handle']>>;

export interface CalledRoute {
  readonly status: number;
  readonly body: unknown;
}

/** Of a long list, what a caller within the service gets at most. It is in memory as a whole. */
const mostItems = 1_000;

/** Runs a route for a caller within the service, under the same checks. Only for routes that answer with JSON. */
export async function callRoute(route: Route, request: IncomingRequest, parts: RunParts): Promise<CalledRoute> {
  const answer = await answerRequest(route, request, parts);
  if (!('status' in answer) || 'text' in answer) throw new Error(`${route.spec.id} does not answer with JSON`);
  const { status } = answer;
  const body = 'long' in answer ? await gatherList(route, answer) : answer.body;
  return { status, body: JSON.parse(checkedJson(route, { status, body })) };
}

async function gatherList({ spec }: Route, { status, long }: AnyLongAnswer): Promise<unknown> {
  const items: unknown[] = [];
  for await (const batch of long.items()) {
    items.push(...batch);
    if (items.length > mostItems) {
      throw httpErrors.invalid_request(
        `The list has more than ${mostItems.toLocaleString('en')} items. Use GET /api${spec.path}, which sends all of them.`,
      );
    }
  }
  return { ...(long.head as object), [spec.returns[status]?.long ?? 'items']: items };
}

async function answerRequest(route: Route, request: IncomingRequest, parts: RunParts): Promise<Handled> {
  const { spec } = route;
  if (spec.auth === 'key' && request.caller === undefined) {
    throw httpErrors.unauthorized(undefined, { headers: { 'WWW-Authenticate': 'Bearer' } });
  }
  requireScope(spec, request.caller);
  try {
    return await withPresentCaller(request.caller, (caller) =>
      route.handle(new HandledRequest(route, request, caller, parts)),
    );
  } catch (error) {
    return askOwnerOrThrow(error, route, request, parts);
  }
}

async function askOwnerOrThrow(
  error: unknown,
  route: Route,
  request: IncomingRequest,
  { askOwner }: RunParts,
): Promise<Handled> {
  const { caller, headers } = request;
  if (route.spec.asks === undefined || caller === undefined || askOwner === undefined) throw error;
  const kept = {
    routeId: route.spec.id,
    params: { ...(request.params as object) },
    body: readBody(route.spec, request),
    ip: addressOf(request),
    idempotencyKey: headers['idempotency-key'] as string | undefined,
    duplicateGuard: headers['duplicate-guard'] as string | undefined,
  };
  return askOwner(error, { route, request: kept, caller });
}

function readBody(spec: Route['spec'], { body, bytes }: IncomingRequest): unknown {
  const replacesOrChanges = spec.method === 'PUT' || spec.method === 'PATCH';
  const mayHoldNulls = !replacesOrChanges && bytes?.includes('null') === true;
  return mayHoldNulls ? withoutNulls(spec.body, body) : body;
}

/** Our own parsers refuse such text in bodies and queries; Fastify reads the parts of a path. */
function storable(params: unknown): unknown {
  for (const text of Object.values(params as Record<string, string>)) refuseUnstorableText(text);
  return params;
}

function readClaim(
  routeId: string,
  { headers, params }: IncomingRequest,
  body: unknown,
  secrets: RequestHashes,
): IdempotencyClaim | undefined {
  const key = headers['idempotency-key'];
  return key === undefined ? undefined : claimOf(requireIdempotencyKey(key), { routeId, params, body }, secrets);
}
