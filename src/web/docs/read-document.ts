import { httpErrors } from '../../kernel/http/errors.ts';
import type { OpenApiDocument, OpenApiOperation } from '../../kernel/http/openapi.ts';
import { type JsonSchema, type Resolve, resolveWithin } from './schema.ts';

/** The OpenAPI document in reading order. */
export type Reference = ReturnType<typeof readDocument>;
export type Chapter = ReturnType<typeof chaptersOf>[number];
export type Operation = ReturnType<typeof readOperation>;
export type Answer = Operation['answers'][number];
export type ErrorEntry = ReturnType<typeof errorsOf>[number];

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: JsonSchema;
  readonly example?: unknown;
}

export interface Content {
  readonly mediaType: string;
  readonly schema: JsonSchema;
  readonly example: unknown;
  readonly resolve: Resolve;
}

interface ErrorFacts {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
}

const problemType = 'application/problem+json';

/** The server returns these whatever the operation, so no operation declares them. */
const serverErrors: readonly ErrorFacts[] = [
  httpErrors.not_found,
  httpErrors.method_not_allowed,
  httpErrors.outcome_unknown,
];

export function readDocument(document: OpenApiDocument) {
  const { title, version, description } = document.info;
  const [server] = (document['servers'] ?? []) as readonly { readonly url: string }[];
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      tag: operation.tags[0] ?? 'Other',
      operation: readOperation(document, path, method, operation),
    })),
  );
  const chapters = chaptersOf(document, operations);
  const errors = errorsOf(chapters.flatMap((chapter) => chapter.operations));
  const baseUrl = server?.url ?? '/api';
  return { title, version, description, baseUrl, publicUrl: baseUrl.replace(/\/api$/, ''), chapters, errors };
}

/** In the order of the document's tags; undescribed tags come last. */
function chaptersOf(
  document: OpenApiDocument,
  operations: readonly { readonly tag: string; readonly operation: Operation }[],
) {
  const described = new Map(document.tags.map((tag) => [tag.name, tag]));
  const names = [...new Set([...described.keys(), ...operations.map(({ tag }) => tag)])];
  return names
    .map((name) => ({ name, words: name.toLowerCase().match(/[a-z0-9]+/g) ?? [] }))
    .map(({ name, words }) => ({
      id: ['chapter', ...words].join('-'),
      /** Of its Markdown file. */
      file: words.join('-'),
      name,
      description: described.get(name)?.description ?? '',
      states: described.get(name)?.['x-states'],
      operations: operations.filter(({ tag }) => tag === name).map(({ operation }) => operation),
    }))
    .filter((chapter) => chapter.operations.length > 0);
}

function readOperation(document: OpenApiDocument, path: string, method: string, operation: OpenApiOperation) {
  const responses = Object.entries(operation.responses);
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    path,
    summary: operation.summary,
    description: operation.description,
    needsKey: ((operation['security'] ?? []) as readonly unknown[]).length > 0,
    scope: operation['x-scope'],
    final: operation['x-final'],
    // The scope of a key that is optional for this operation.
    scopeOfKey: operation['x-scope-of-key'],
    parameters: operation.parameters as unknown as readonly Parameter[],
    body: readContent(operation.requestBody, document),
    answers: responses
      .filter(([, response]) => !isProblem(response))
      .map(([status, response]) => ({
        status,
        description: String(response['description'] ?? ''),
        content: readContent(response, document),
      })),
    errors: responses.filter(([, response]) => isProblem(response)).flatMap(([, response]) => readErrors(response)),
  };
}

type Json = Readonly<Record<string, unknown>>;
type Media = { readonly schema?: JsonSchema; readonly example?: unknown; readonly examples?: Json };

function mediaOf(holder: Json | undefined): Readonly<Record<string, Media>> {
  return (holder?.['content'] ?? {}) as Readonly<Record<string, Media>>;
}

function isProblem(response: Json): boolean {
  return problemType in mediaOf(response);
}

function readContent(holder: Json | undefined, document: OpenApiDocument): Content | undefined {
  const [first] = Object.entries(mediaOf(holder));
  if (first === undefined) return undefined;
  const [mediaType, { schema = {}, example }] = first;
  return { mediaType, schema, example, resolve: resolveWithin(schema, document) };
}

/** The document lists each error code as an example of its response. */
function readErrors(response: Json): ErrorFacts[] {
  const examples = mediaOf(response)[problemType]?.examples ?? {};
  return Object.entries(examples).map(([code, example]) => {
    const { status, title, detail } = (example as { value: ErrorFacts }).value;
    return { code, status, title, detail };
  });
}

/** Each code once, sorted by status and name. */
function errorsOf(operations: readonly Operation[]) {
  const facts = new Map<string, ErrorFacts>();
  for (const error of [...serverErrors, ...operations.flatMap((operation) => operation.errors)]) {
    if (!facts.has(error.code)) facts.set(error.code, error);
  }
  return [...facts.values()]
    .map(({ code, status, title, detail }) => ({
      code,
      status,
      title,
      detail,
      operations: operations.filter(({ errors }) => errors.some((error) => error.code === code)),
    }))
    .sort((a, b) => a.status - b.status || (a.code < b.code ? -1 : 1));
}
