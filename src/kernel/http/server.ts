import type { BlockList } from 'node:net';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type onRequestHookHandler,
} from 'fastify';
import { newId } from '../ids/ids.ts';
import type { Logger } from '../log/logger.ts';
import type { RateLimiter } from '../rate-limit/limiter.ts';
import type { RateLimits } from '../rate-limit/rate-limits.ts';
import { hasTrustedProxies, isTrusted } from './client-address.ts';
import type { Caller, Route } from './define-route.ts';
import { httpErrors } from './errors.ts';
import { createEventStreams } from './event-streams.ts';
import type { RequestHashes } from './idempotency-claim.ts';
import { answerClientError } from './listen.ts';
import { createLongAnswers, type LongAnswerLimits } from './long-answers.ts';
import { parseJsonBody, parseUnnamedBody } from './parse-body.ts';
import type { Problem } from './problem.ts';
import type { Counted } from './rate-limits.ts';
import {
  type Authenticate,
  addressOf,
  countAgain,
  countFailedRequest,
  countInRoute,
  createApiGuard,
  createPageGuard,
  isStillKnown,
} from './request-guards.ts';
import { addHeaders } from './response-headers.ts';
import {
  type AskOwner,
  type CalledRoute,
  callRoute,
  type IncomingRequest,
  type RunParts,
  runRoute,
} from './run-route.ts';
import { sendProblem, toProblem } from './send-problem.ts';
import { createProxyNotice } from './trusted-proxies.ts';

function preflightHeaders(allow: string): Readonly<Record<string, string>> {
  return {
    allow,
    'access-control-allow-methods': allow,
    // Clients of x402 version 1 send Access-Control-Expose-Headers, which only makes sense in responses; the preflight
    // must allow it.
    'access-control-allow-headers':
      'Authorization, Content-Type, Idempotency-Key, Duplicate-Guard, If-Match, PAYMENT-SIGNATURE, X-PAYMENT, Access-Control-Expose-Headers',
    'access-control-max-age': '86400',
  };
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined;
    /** The body as it came, for checking a signature over it. */
    bytes: Buffer | undefined;
    /** The code of the problem in the response. */
    refusedWith: string | undefined;
    /** What is left of its rate limit, for the response headers. */
    counted: Counted | undefined;
    /** Whether its route has counted it against a rate limit. */
    isCounted: boolean;
  }
}

/** A request that was answered, or that its client gave up. */
export interface AnsweredRequest {
  /** The pattern and not the address: the address may hold an email in its query or a token in its path. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
}

export interface ServerOptions {
  readonly config: { readonly rateLimits: RateLimits; readonly trustedProxies: BlockList };
  /** Known for certain only once the service listens. */
  readonly publicUrl: () => string;
  readonly routes: readonly Route[];
  readonly authenticate: Authenticate;
  /** For an endpoint beside the API: tokens that are valid there alone, too. */
  readonly authenticateClient?: Authenticate;
  readonly limiter: RateLimiter;
  readonly secrets: RequestHashes;
  readonly askOwner?: AskOwner;
  readonly logger: Logger;
  readonly longAnswerLimits?: LongAnswerLimits;
  readonly onAnswered?: ((answered: AnsweredRequest) => void) | undefined;
  /** Adds the pages beside the API. */
  readonly pages?: (app: FastifyInstance, api: ApiAccess) => void;
}

/** What an endpoint beside the API needs to offer its operations in another form. */
export interface ApiAccess {
  /** The onRequest hook that finds the caller and counts the request, for a route with `countsAsApi`. */
  readonly guard: onRequestHookHandler;
  /** Counts another request of the caller, or refuses it. */
  readonly count: (request: FastifyRequest) => Promise<void>;
  /** Whether the key of the request still works. */
  readonly isStillKnown: (request: FastifyRequest) => Promise<boolean>;
  /** Runs an operation of the API. It is not counted again. */
  readonly call: (operationId: string, request: IncomingRequest) => Promise<CalledRoute>;
}

const apiPrefix = '/api';
const bodyLimitBytes = 64 * 1024;
const allMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

function noSchemas(): never {
  throw new Error('declare what a route takes with defineRoute, not with a Fastify schema');
}

export function createServer(options: ServerOptions): FastifyInstance {
  const { config, logger, publicUrl } = options;
  const app = Fastify({
    logger: false,
    genReqId: () => newId('req'),
    bodyLimit: bodyLimitBytes,
    requestTimeout: 30_000,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    // Answered below, as a problem.
    return503OnClosing: false,
    // Without trusted proxies the check would cost time on every request for nothing.
    trustProxy: hasTrustedProxies(config.trustedProxies) && ((address) => isTrusted(config.trustedProxies, address)),
    rewriteUrl: ({ url = '/' }) => withoutTrailingSlash(url),
    // run-route.ts reads the query, where an error becomes a problem response.
    routerOptions: { querystringParser: () => ({}), maxParamLength: 500 },
    // Routes validate with zod; without these Fastify would load schema compilers that nothing uses.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      sendProblem(reply, toProblem(error), request.id, publicUrl());
    },
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, readWith(parseJsonBody));
  app.decorateRequest('caller', undefined);
  app.decorateRequest('bytes', undefined);
  app.decorateRequest('refusedWith', undefined);
  app.decorateRequest('counted', undefined);
  app.decorateRequest('isCounted', false);

  const noticeProxy = createProxyNotice(config, logger);
  const stopping = httpErrors.unavailable('This process is shutting down. Send the request again.', {
    headers: { 'Retry-After': '1' },
  });
  let isStopping = false;
  app.addHook('preClose', async () => {
    isStopping = true;
  });
  app.addHook('onRequest', (request, _reply, done) => {
    noticeProxy(request);
    done(isStopping ? stopping : undefined);
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    addHeaders(request, reply, publicUrl());
    done();
  });
  app.addHook('onRequest', createPageGuard(options));
  if (logger.isLevelEnabled('info'))
    app.addHook('onResponse', (request, reply, done) => {
      logRequest(logger, request, reply);
      done();
    });

  const { onAnswered } = options;
  if (onAnswered !== undefined)
    app.addHook('onResponse', (request, reply, done) => {
      onAnswered({
        route: routeOf(request),
        method: request.method,
        status: reply.statusCode,
        seconds: reply.elapsedTime / 1000,
      });
      done();
    });

  app.setErrorHandler(async (error, request, reply) => {
    const problem = toProblem((await countFailedRequest(options, request)) ?? error);
    request.refusedWith = problem.code;
    if (isOurs(problem) && problem !== stopping)
      logger.error({ err: error, requestId: request.id }, 'a request failed');
    return sendProblem(reply, problem, request.id, publicUrl());
  });
  app.setNotFoundHandler((_request, _reply) => {
    throw httpErrors.not_found();
  });

  const streams = createEventStreams({ logger, publicUrl });
  // An open stream would keep the server from stopping.
  app.addHook('preClose', async () => streams.close());
  const longAnswers = createLongAnswers({ logger, limits: options.longAnswerLimits });
  const parts: RunParts = {
    streams,
    longAnswers,
    secrets: options.secrets,
    publicUrl,
    askOwner: options.askOwner,
    countIn: (request) => countInRoute(options, request),
  };
  app.register(async (api) => registerApi(api, options.routes, { parts, guard: createApiGuard(options) }), {
    prefix: apiPrefix,
  });
  const byId = new Map(options.routes.map((route) => [route.spec.id, route]));
  const ofClients = { ...options, authenticate: options.authenticateClient ?? options.authenticate };
  options.pages?.(app, {
    guard: createApiGuard(ofClients),
    count: (request) => countAgain(ofClients, request),
    isStillKnown: (request) => isStillKnown(ofClients, request),
    call: async (operationId, request) => {
      const route = byId.get(operationId);
      if (route === undefined) throw new Error(`there is no operation ${operationId}`);
      return callRoute(route, request, parts);
    },
  });
  return app;
}

function registerApi(
  api: FastifyInstance,
  routes: readonly Route[],
  { parts, guard }: { readonly parts: RunParts; readonly guard: onRequestHookHandler },
): void {
  api.addHook('onRequest', guard);
  api.addContentTypeParser(/^application\/[\w.-]+\+json(?:;|$)/i, { parseAs: 'buffer' }, readWith(parseJsonBody));
  api.addContentTypeParser('*', { parseAs: 'buffer' }, readWith(parseUnnamedBody));

  api.setNotFoundHandler(() => {
    throw httpErrors.not_found('This operation does not exist. GET /api/openapi.json lists all operations.');
  });

  for (const [path, group] of groupByPath(routes)) {
    for (const route of group) {
      api.route({
        method: route.spec.method,
        url: path,
        config: { countsThemselves: route.spec.countsThemselves, countsKeys: route.spec.countsKeys },
        handler: (request, reply) => runRoute(route, request, reply, parts),
      });
    }
    refuseOtherMethods(api, path, group);
  }
}

function readWith(parse: (bytes: Buffer, type: string | undefined) => unknown) {
  return (request: FastifyRequest, bytes: string | Buffer, done: (error: Error | null, body?: unknown) => void) => {
    request.bytes = bytes as Buffer;
    try {
      done(null, parse(request.bytes, request.headers['content-type']));
    } catch (error) {
      done(error as Error);
    }
  };
}

/** Only for the API: pages have relative links. Signatures are checked over the address as it was sent. */
function withoutTrailingSlash(url: string): string {
  if (!url.endsWith('/') && !url.includes('/?')) return url;
  return url.startsWith(`${apiPrefix}/`) ? url.replace(/^([^?]*[^/?])\/(?=\?|$)/, '$1') : url;
}

/** Answers a method that the path does not have with 405, and OPTIONS with the methods that it has. */
function refuseOtherMethods(api: FastifyInstance, path: string, group: readonly Route[]): void {
  const taken = group.map((route) => route.spec.method);
  const allow = [...taken, ...(taken.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
  api.route({
    method: allMethods.filter((method) => !taken.includes(method)),
    url: path,
    handler: async () => {
      throw httpErrors.method_not_allowed(undefined, { headers: { Allow: allow } });
    },
  });
  api.options(path, async (_request, reply) => reply.code(204).headers(preflightHeaders(allow)).send());
}

function groupByPath(routes: readonly Route[]): Map<string, Route[]> {
  const groups = new Map<string, Route[]>();
  for (const route of routes) groups.set(route.spec.path, [...(groups.get(route.spec.path) ?? []), route]);
  return groups;
}

/** A 502 or 504 reports the failure of a third party's server, so the operator need not look into it. */
function isOurs({ status }: Problem): boolean {
  return status >= 500 && status !== 502 && status !== 504;
}

function routeOf({ routeOptions }: FastifyRequest): string {
  return routeOptions.url ?? 'none';
}

function logRequest(logger: Logger, request: FastifyRequest, reply: FastifyReply): void {
  logger.info(
    {
      requestId: request.id,
      method: request.method,
      route: routeOf(request),
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      from: addressOf(request),
      ...(request.caller !== undefined && { account: request.caller.handle, key: request.caller.keyId }),
      ...(request.refusedWith !== undefined && { refusedWith: request.refusedWith }),
    },
    'request',
  );
}
