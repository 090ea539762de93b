import type { OpenApiDocument, OpenApiOperation } from '../kernel/http/openapi.ts';
import type { Tool } from '../kernel/http/tool.ts';
import type { ApiCall } from './api-port.ts';
import { refusalSchema } from './refusal.ts';
import { eitherOf, inputOf, type Json, type ObjectSchema, outputOf, shortly } from './schemas.ts';

type Place = 'path' | 'query' | 'body';

interface Operation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
}

/** An operation of the API that agents see as a tool. */
export interface ToolOperation extends Operation {
  readonly tool: Tool;
  /** The scope that a key needs. Undefined where every key will do. */
  readonly scope: string | undefined;
  readonly description: string;
  readonly input: ObjectSchema;
  readonly output: ObjectSchema;
  readonly isIdempotent: boolean;
  readonly isGuarded: boolean;
  readonly hasBody: boolean;
  readonly places: ReadonlyMap<string, Place>;
}

/** The look-up of an item by its id. */
export interface LookUp extends Operation {
  readonly parameter: string;
  /** Can wait on its own. */
  readonly waits: boolean;
  readonly final: ReadonlySet<string>;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Json;
  readonly example?: unknown;
}

function* operationsOf(document: OpenApiDocument): Generator<Operation & { readonly spec: OpenApiOperation }> {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, spec] of Object.entries(methods)) {
      yield { operationId: spec.operationId, method: method.toUpperCase(), path, spec };
    }
  }
}

export function toolOperations(document: OpenApiDocument): readonly ToolOperation[] {
  return [...operationsOf(document)].flatMap(({ spec, ...operation }) => {
    const tool = spec['x-tool'];
    return tool === undefined ? [] : [{ ...operation, ...toolOf(spec, tool) }];
  });
}

function toolOf(spec: OpenApiOperation, tool: Tool): Omit<ToolOperation, keyof Operation> {
  const parameters = spec.parameters as readonly unknown[] as readonly Parameter[];
  const given = parameters.filter((parameter) => parameter.in !== 'header');
  const headers = new Set(parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name));
  const body = bodyOf(spec.requestBody);
  const scope = spec['x-scope'];
  const isIdempotent = headers.has('Idempotency-Key');
  const properties = {
    ...Object.fromEntries(
      given.map(({ name, description, schema }) => [name, inputOf({ ...schema, ...(description && { description }) })]),
    ),
    ...body?.properties,
    ...(isIdempotent && { idempotencyKey: { type: 'string' } }),
  };
  const required = [...given.filter((one) => one.required).map(({ name }) => name), ...(body?.required ?? [])];
  return {
    tool,
    scope: scope === 'any' ? undefined : scope,
    description: describe(spec),
    input: { type: 'object', properties, ...(required.length > 0 && { required }) },
    output: eitherOf([...successes(spec), refusalSchema]),
    isIdempotent,
    isGuarded: headers.has('Duplicate-Guard'),
    hasBody: body !== undefined,
    places: new Map([
      ...given.map(({ name, in: place }) => [name, place] as [string, Place]),
      ...Object.keys(body?.properties ?? {}).map((name) => [name, 'body'] as [string, Place]),
    ]),
  };
}

/** First what it does, in the words of the summary: many clients show a model neither the title nor the hints. */
function describe({ summary, description = '' }: OpenApiOperation): string {
  return shortly(`${summary}. ${description}`.trim(), 110);
}

function bodyOf(requestBody: Json | undefined): ObjectSchema | undefined {
  const schema = jsonOf(requestBody)?.['schema'] as Json | undefined;
  return schema && (inputOf(schema) as ObjectSchema);
}

function successes({ responses }: OpenApiOperation): readonly Json[] {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, response]) => outputOf(jsonOf(response)?.['schema'] as Json));
}

function jsonOf(content: Json | undefined): Json | undefined {
  return (content?.['content'] as Record<string, Json> | undefined)?.['application/json'];
}

/** The look-ups for each prefix of an id, such as `wdr`. A buyer and a seller look the same order up in two places. */
export function lookUps(document: OpenApiDocument): ReadonlyMap<string, readonly LookUp[]> {
  const found = new Map<string, LookUp[]>();
  for (const { spec, ...operation } of operationsOf(document)) {
    const parameters = spec.parameters as readonly unknown[] as readonly Parameter[];
    const [parameter, ...others] = parameters.filter((one) => one.in === 'path');
    if (operation.method !== 'GET' || parameter === undefined || others.length > 0) continue;
    const prefix = /^([a-z]{3})_/.exec(String(parameter.example))?.[1];
    if (prefix === undefined || !operation.path.endsWith(`{${parameter.name}}`)) continue;
    const waits = parameters.some(({ name }) => name === 'wait');
    const lookUp = { ...operation, parameter: parameter.name, waits, final: new Set(spec['x-final']) };
    found.set(prefix, [...(found.get(prefix) ?? []), lookUp]);
  }
  return found;
}

/** The request that a call of the tool makes. Unknown arguments go where the API refuses them by name. */
export function requestOf(
  operation: ToolOperation,
  given: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): ApiCall {
  const { operationId, method, path, places, hasBody, isIdempotent, isGuarded } = operation;
  const parts: Record<Place, Record<string, unknown>> = { path: {}, query: {}, body: {} };
  const { idempotencyKey, ...rest } = isIdempotent ? given : { ...given, idempotencyKey: undefined };
  for (const [name, value] of Object.entries(rest)) {
    // Models send null for what they leave out.
    if (value === null || value === undefined) continue;
    parts[places.get(name) ?? (hasBody ? 'body' : 'query')][name] = value;
  }
  return {
    operationId,
    method,
    path,
    params: asTexts(parts.path),
    query: asTexts(parts.query),
    body: hasBody ? parts.body : undefined,
    headers: {
      ...(idempotencyKey !== undefined && idempotencyKey !== null && { 'idempotency-key': String(idempotencyKey) }),
      ...(isGuarded && { 'duplicate-guard': 'on' }),
    },
    signal,
  };
}

function asTexts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}
