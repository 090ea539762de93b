import {
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
} from '@modelcontextprotocol/server';
import type { ApiAnswer, CallApi } from './api-port.ts';

const referenceUri = 'paywright://reference';

const listed: readonly Resource[] = [
  {
    uri: referenceUri,
    name: 'reference',
    title: 'API reference',
    description: 'Every operation, error and webhook.',
    mimeType: 'text/markdown',
  },
];

const templates: readonly ResourceTemplateType[] = [
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

export interface Resources {
  list(): readonly Resource[];
  templates(): readonly ResourceTemplateType[];
  read(reading: Reading): Promise<ReadResourceResult>;
}

/** @param reference The whole reference as Markdown. */
export function createResources(reference: () => Promise<string>): Resources {
  return {
    list: () => listed,
    templates: () => templates,
    async read(reading) {
      if (reading.uri !== referenceUri) return readOfAccount(reading);
      return { contents: [{ uri: referenceUri, mimeType: 'text/markdown', text: await reference() }] };
    },
  };
}

async function readOfAccount({ uri, call, signal }: Reading): Promise<ReadResourceResult> {
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
