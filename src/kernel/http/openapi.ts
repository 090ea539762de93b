import { z } from 'zod';
import type { Route, Scope, Success } from './define-route.ts';
import { guardErrors } from './duplicate-guard.ts';
import { httpErrors } from './errors.ts';
import { eventText } from './event-streams.ts';
import type { ErrorKind } from './problem.ts';
import { problemType } from './send-problem.ts';
import type { Tool } from './tool.ts';

type Json = Readonly<Record<string, unknown>>;

export interface OpenApiDocument extends Json {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly tags: readonly {
    readonly name: string;
    readonly description: string;
    readonly 'x-states'?: StatePicture;
  }[];
}

export interface OpenApiOperation extends Json {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Json[];
  readonly requestBody?: Json;
  readonly responses: Readonly<Record<string, Json>>;
  /** Absent where no key is needed. */
  readonly 'x-scope'?: Scope | 'any';
  /** The scope that an optional key needs. */
  readonly 'x-scope-of-key'?: Scope;
  readonly 'x-tool'?: Tool;
  /** The values of `status` that do not change by themselves any more. */
  readonly 'x-final'?: readonly string[];
}

export interface Chapter {
  readonly name: string;
  readonly description: string;
  /** The states of a long-running operation, drawn in the reference. */
  readonly states?: StatePicture;
}

/** The usual path, top to bottom, and the failed state. */
export interface StatePicture {
  readonly caption: string;
  readonly way: readonly {
    readonly state: string;
    readonly meaning: string;
    readonly mayFail?: true;
  }[];
  readonly failed: { readonly state: string; readonly meaning: string };
}

const interfaceVersion = '3.0.0';

export function buildOpenApi(
  routes: readonly Route[],
  publicUrl: string,
  chapters: readonly Chapter[],
): OpenApiDocument {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const route of routes) {
    const path = route.spec.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.spec.method.toLowerCase()]: toOperation(route, publicUrl) };
  }
  const used = new Set(routes.map((route) => route.spec.tag));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Paywright',
      version: interfaceVersion,
      description:
        'Stablecoin payments for AI agents and the people who own them. In a request body, null is treated as omitted, except with PATCH, where it clears a field, and with PUT, where it is refused.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: `${publicUrl}/api` }],
    tags: chapters
      .filter(({ name }) => used.has(name))
      .map(({ states, ...tag }) => ({ ...tag, ...(states !== undefined && { 'x-states': states }) })),
    paths,
    components: {
      schemas: { Problem: problemSchema },
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, which begins with pa_live_.' },
      },
    },
  } as OpenApiDocument;
}

function toOperation({ spec }: Route, publicUrl: string): OpenApiOperation {
  return {
    operationId: spec.id,
    summary: spec.summary,
    ...(spec.description !== undefined && { description: spec.description }),
    tags: [spec.tag],
    security: spec.auth === 'key' ? [{ apiKey: [] }] : [],
    ...(spec.scope !== undefined && { 'x-scope': spec.scope }),
    ...(spec.scopeOfKey !== undefined && { 'x-scope-of-key': spec.scopeOfKey }),
    ...(spec.tool !== undefined && { 'x-tool': spec.tool }),
    ...(spec.final !== undefined && { 'x-final': spec.final }),
    parameters: [
      ...toParameters('path', spec.params, spec.examples?.params),
      ...toParameters('query', spec.query, spec.examples?.query),
      ...(spec.idempotent ? [idempotencyParameter] : []),
      ...(spec.guarded ? [guardParameter] : []),
      ...(spec.ifMatch ? [ifMatchParameter] : []),
    ],
    ...(spec.body !== undefined && {
      requestBody: {
        required: !spec.body.safeParse(undefined).success,
        content: {
          'application/json': {
            schema: toSchema(spec.body, 'input'),
            ...(spec.examples?.body !== undefined && { example: spec.examples.body }),
          },
        },
      },
    }),
    responses: {
      ...successResponses(spec),
      ...(spec.events !== undefined && { 200: streamResponse(spec.events) }),
      ...errorResponses(spec, publicUrl),
    },
  };
}

function successResponses(spec: Route['spec']): Record<string, Json> {
  const { returns, asks } = spec;
  const responses = Object.entries(returns).map(
    ([status, success]) => [status, successResponse(spec, success)] as const,
  );
  if (asks === undefined) return Object.fromEntries(responses);
  const other = returns[202];
  const asked = other === undefined ? successResponse(spec, asks) : eitherResponse(spec, other, asks);
  return { ...Object.fromEntries(responses), 202: asked };
}

function successResponse(spec: Route['spec'], { description, schema, example, alternatives = {} }: Success): Json {
  return {
    description,
    headers: { ...rateLimitHeaders, ...(spec.etag && etagHeader) },
    content: {
      'application/json': { schema: toSchema(schema, 'output'), example },
      ...Object.fromEntries(
        Object.entries(alternatives).map(([type, text]) => [type, { schema: { type: 'string' }, example: text }]),
      ),
    },
  };
}

/** Two answers with one status. */
function eitherResponse(spec: Route['spec'], one: Success, other: Success): Json {
  return {
    ...successResponse(spec, one),
    description: `${one.description}. Or: ${other.description}`,
    content: {
      'application/json': {
        schema: { anyOf: [toSchema(one.schema, 'output'), toSchema(other.schema, 'output')] },
        examples: { done: { value: one.example }, asked: { value: other.example } },
      },
    },
  };
}

/** OpenAPI cannot describe events, so `x-events` holds their schemas and the example shows one of each. */
function streamResponse(events: NonNullable<Route['spec']['events']>): Json {
  const kinds = Object.entries(events);
  return {
    description: `Server-Sent Events. ${kinds
      .map(([name, { description }]) => `\`${name}\`: ${description}`)
      .join('. ')}. \`error\`: the stream failed; the problem says why, and no event follows`,
    headers: rateLimitHeaders,
    content: {
      'text/event-stream': {
        schema: { type: 'string' },
        example: kinds.map(([event, { example }]) => eventText({ event, data: example })).join(''),
        'x-events': {
          ...Object.fromEntries(kinds.map(([name, { schema }]) => [name, toSchema(schema, 'output')])),
          error: { $ref: '#/components/schemas/Problem' },
        },
      },
    },
  };
}

/** Errors with the same status share a response; each code has its own example. */
function errorResponses(spec: Route['spec'], publicUrl: string): Record<string, Json> {
  const kinds = errorsOf(spec);
  const statuses = [...new Set(kinds.map((kind) => kind.status))];
  return Object.fromEntries(
    statuses.map((status) => [
      String(status),
      errorResponse(
        kinds.filter((kind) => kind.status === status),
        publicUrl,
      ),
    ]),
  );
}

function errorResponse(kinds: readonly ErrorKind[], publicUrl: string): Json {
  return {
    description: kinds.map((kind) => `\`${kind.code}\`: ${kind.title}`).join('; '),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(kinds.map((kind) => [kind.code, { value: exampleProblem(kind, publicUrl) }])),
      },
    },
  };
}

/** The declared errors, and those that every such route may return. */
function errorsOf(spec: Route['spec']): ErrorKind[] {
  const takesInput = spec.body !== undefined || spec.query !== undefined || spec.params !== undefined;
  const kinds = [
    ...(takesInput || spec.idempotent ? [httpErrors.invalid_request] : []),
    ...(spec.auth === 'key' ? [httpErrors.unauthorized] : []),
    ...((spec.scope ?? spec.scopeOfKey ?? 'any') === 'any' ? [] : [httpErrors.scope_required]),
    ...(spec.errors ?? []),
    ...(spec.guarded ? [guardErrors.possible_duplicate] : []),
    ...(spec.idempotent ? [httpErrors.idempotency_in_progress, httpErrors.idempotency_mismatch] : []),
    ...(spec.body !== undefined ? [httpErrors.payload_too_large, httpErrors.unsupported_media_type] : []),
    httpErrors.rate_limited,
    httpErrors.internal_error,
    httpErrors.unavailable,
  ];
  return [...new Set(kinds)].sort((a, b) => a.status - b.status);
}

function exampleProblem(kind: ErrorKind, publicUrl: string): Json {
  return {
    type: problemType(publicUrl, kind.code),
    title: kind.title,
    status: kind.status,
    detail: kind.detail,
    code: kind.code,
    requestId: 'req_01kp3v2m8rfk2s6y0e6v9q4w1x',
  };
}

function toParameters(where: 'path' | 'query', schema: z.ZodType | undefined, example: unknown): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = toSchema(schema, 'input') as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property;
    const given = (example as Record<string, unknown> | undefined)?.[name];
    return {
      name,
      in: where,
      required: where === 'path' || required.includes(name),
      ...(description !== undefined && { description }),
      schema: rest,
      ...(given !== undefined && { example: given }),
    };
  });
}

function toSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return json;
}

const idempotencyParameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes the request safe to retry: the same request with the same key returns the response of the first success, which is kept for at least 24 hours.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

const guardParameter = {
  name: 'Duplicate-Guard',
  in: 'header',
  required: false,
  description:
    'With `on`, a payment that repeats one of the last ten minutes is refused with `possible_duplicate`, also under another Idempotency-Key. PATCH /account turns it on for every request.',
  schema: { type: 'string', enum: ['on', 'off'] },
};

const ifMatchParameter = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description:
    'The entity tag that you read, in quotes. If it has changed since, nothing is changed and the response is 412.',
  schema: { type: 'string' },
};

const etagHeader = {
  ETag: {
    description: 'The version as a strong entity tag, for If-Match.',
    schema: { type: 'string' },
    example: '"5f2b1c0a9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a"',
  },
};

const rateLimitHeaders = {
  'RateLimit-Policy': {
    description: 'The rate limit: `q` requests per window of `w` seconds.',
    schema: { type: 'string' },
    example: '"default";q=60;w=60',
  },
  RateLimit: {
    description: '`r` requests remain; the window resets in `t` seconds.',
    schema: { type: 'string' },
    example: '"default";r=59;t=60',
  },
};

const problemSchema = {
  type: 'object',
  description: 'Every error, as application/problem+json (RFC 9457). Branch on `code`, which never changes.',
  required: ['type', 'title', 'status', 'detail', 'code', 'requestId'],
  properties: {
    type: { type: 'string', format: 'uri', description: 'A link to the documentation of this error.' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: {
      type: 'string',
      description: 'What happened and what to do. If a shop refused the request, this may be the shop’s own text.',
      'x-untrusted': true,
    },
    code: { type: 'string', description: 'Stable, snake_case.' },
    requestId: { type: 'string', description: 'Include it when you ask for support.' },
    errors: {
      type: 'array',
      description: 'For `invalid_request`: the invalid fields.',
      items: {
        type: 'object',
        required: ['path', 'message'],
        properties: { path: { type: 'string' }, message: { type: 'string' } },
      },
    },
  },
  additionalProperties: {
    description: 'Further members depend on `code`, such as a shop’s URL or a seller’s response.',
    'x-untrusted': true,
  },
};
