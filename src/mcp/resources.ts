import {
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
} from '@modelcontextprotocol/server';
import type { ApiAnswer, CallApi } from './api-port.ts';

const reference = 'paywright://reference';

export const resources: readonly Resource[] = [
  {
    uri: reference,
    name: 'reference',
    title: 'API reference',
    description: 'Every operation, error and webhook.',
    mimeType: 'text/markdown',
  },
];

export const resourceTemplates: readonly ResourceTemplateType[] = [
  {
    uriTemplate: 'paywright://statement/{month}',
    name: 'statement',
    title: 'Monthly statement in USDC',
    description: 'Every change of the balance in a month such as 2026-01, in UTC.',
    mimeType: 'application/json',
  },
  {
    uriTemplate: 'paywright://receipt/{transferId}',
    name: 'receipt',
    title: 'Receipt of a transfer',
    mimeType: 'application/json',
  },
];

interface Reading {
  readonly uri: string;
  readonly call: CallApi;
  readonly signal: AbortSignal;
}

export async function readResource(
  readReference: () => Promise<string>,
  { uri, call, signal }: Reading,
): Promise<ReadResourceResult> {
  if (uri === reference) return { contents: [{ uri, mimeType: 'text/markdown', text: await readReference() }] };
  const [, kind, id] = /^paywright:\/\/(statement|receipt)\/([\w-]{1,64})$/.exec(uri) ?? [];
  if (kind === undefined || id === undefined) throw new ResourceNotFoundError(uri);
  const get = { method: 'GET', body: undefined, headers: {}, signal };
  const answer =
    kind === 'statement'
      ? await call({
          ...get,
          operationId: 'getStatement',
          path: '/account/statement',
          params: {},
          query: { month: id },
        })
      : await call({
          ...get,
          operationId: 'getTransfer',
          path: '/circle/transfers/{transferId}',
          params: { transferId: id },
          query: {},
        });
  return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(found(answer, uri)) }] };
}

/** Also a refusal has something to say to a model, except when there is nothing. */
function found({ status, body }: ApiAnswer, uri: string): unknown {
  if (status === 404) throw new ResourceNotFoundError(uri);
  return body;
}
