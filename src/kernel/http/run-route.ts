import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Secrets } from '../secrets/secrets.ts';
import { clientAddress } from './client-address.ts';
import type { IdempotencyClaim, ReceivedRequest, RequestCount, Route } from './define-route.ts';
import { httpErrors } from './errors.ts';
import type { EventStreams } from './event-streams.ts';
import type { LongAnswers } from './long-answers.ts';
import { refuseUnstorableText } from './parse-body.ts';
import { parseQuery } from './parse-query.ts';
import { requireScope } from './require-scope.ts';
import { validate } from './validate.ts';
import { withoutNulls } from './without-nulls.ts';

/** Hash requests, so that a repeated one is recognised. */
export type RequestHashes = Pick<Secrets, 'hash' | 'hashes'>;

interface RunParts {
  readonly streams: EventStreams;
  readonly longAnswers: LongAnswers;
  readonly count: RequestCount;
  readonly secrets: RequestHashes;
}

/** One request, top to bottom: check the key, read the request, run the handler, check the answer. */
export async function runRoute(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  { streams, longAnswers, count, secrets }: RunParts,
): Promise<FastifyReply> {
  const { spec } = route;
  if (spec.auth === 'key' && request.caller === undefined) {
    throw httpErrors.unauthorized(undefined, { headers: { 'WWW-Authenticate': 'Bearer' } });
  }
  requireScope(spec, request.caller);

  const asked = readRequest(spec, request, secrets);
  const answer = await route.handle({
    ...asked,
    caller: request.caller,
    requestId: request.id,
    accept: request.headers.accept ?? '',
    ip: clientAddress(request.ip, request.socket.remoteAddress),
    get received() {
      return asReceived(request);
    },
    header: (name: string) => {
      const value = request.headers[name];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    count,
  });

  if ('headers' in answer && answer.headers !== undefined) reply.headers(answer.headers);
  if ('replayed' in answer) reply.header('Idempotency-Replayed', 'true');
  if ('stream' in answer) return streams.send(route, answer, request, reply);
  if ('text' in answer || 'long' in answer) return longAnswers.send(route, answer, request, reply);
  return reply.code(answer.status).type('application/json; charset=utf-8').send(checkedJson(route, answer));
}

function readRequest(spec: Route['spec'], request: FastifyRequest, secrets: RequestHashes) {
  const given = spec.method === 'PATCH' ? request.body : withoutNulls(spec.body, request.body);
  const body = validate('body', spec.body, given);
  return {
    body,
    query: spec.query && validate('query', spec.query, parseQuery(request.url)),
    params: spec.params && validate('params', spec.params, storable(request.params)),
    idempotency: spec.idempotent && readClaim(spec.id, request, body, secrets),
  };
}

function asReceived({ method, originalUrl, headers, bytes }: FastifyRequest): ReceivedRequest {
  return { method, target: originalUrl, headers, body: bytes ?? new Uint8Array() };
}

/** Our own parsers refuse such text in bodies and queries; Fastify reads the parts of a path. */
function storable(params: unknown): unknown {
  for (const text of Object.values(params as Record<string, string>)) refuseUnstorableText(text);
  return params;
}

/** Drops undeclared fields. A missing or wrong one is our error, and the answer is not sent. */
function checkedJson(route: Route, answer: { status: number; body: unknown }): string {
  const declared = route.spec.returns[answer.status];
  if (declared === undefined)
    throw new Error(`${route.spec.id} answered with status ${answer.status}, which it does not declare`);
  return JSON.stringify(declared.schema.parse(answer.body));
}

/** The stored fingerprint is a keyed hash, because the request may hold a secret that could be guessed from a plain one. */
function readClaim(
  routeId: string,
  request: FastifyRequest,
  body: unknown,
  secrets: RequestHashes,
): IdempotencyClaim | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw httpErrors.invalid_request('Idempotency-Key must be 1 to 255 printable ASCII characters.');
  }
  const content = JSON.stringify([routeId, request.params, body]);
  return {
    key,
    requestHash: secrets.hash('requests', content),
    // Hashed with a secret that was replaced since.
    formerHashes: () => secrets.hashes('requests', content).slice(1),
  };
}
