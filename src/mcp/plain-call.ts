import type { IncomingHttpHeaders } from 'node:http';
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type Implementation,
  type InputRequiredResult,
  PROTOCOL_VERSION_META_KEY,
  SERVER_INFO_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';

/**
 * A call of a tool as most clients send it. It is answered without the library, which makes a server, a transport and a stream for each message and
 * checks it a dozen times: that costs four times as much CPU as the payment. Whatever is not exactly like this goes through the
 * library, and a property test compares the answers of both.
 */
export interface PlainCall {
  readonly id: string | number;
  readonly name: string;
  readonly given: Readonly<Record<string, unknown>>;
  readonly isModern: boolean;
  /** Only of protocol 2026-07-28. */
  readonly capabilities: ClientCapabilities | undefined;
}

type Members = Readonly<Record<string, unknown>>;

const modern = '2026-07-28';

export function readPlainCall(headers: IncomingHttpHeaders, body: unknown): PlainCall | undefined {
  if (!hasOnly(body, ['jsonrpc', 'id', 'method', 'params'])) return undefined;
  const { jsonrpc, id, method, params } = body;
  if (jsonrpc !== '2.0' || method !== 'tools/call' || (typeof id !== 'string' && !Number.isSafeInteger(id)))
    return undefined;
  if (!hasOnly(params, ['name', 'arguments', '_meta'])) return undefined;
  const { name, arguments: given = {}, _meta } = params;
  if (typeof name !== 'string' || !isObject(given) || !saysWhatItTakes(headers)) return undefined;
  const call = { id: id as string | number, name, given };
  if ('_meta' in params) {
    const capabilities = isModernCall(headers, name) ? capabilitiesIn(_meta) : undefined;
    return capabilities && { ...call, isModern: true, capabilities };
  }
  return isOlderCall(headers) ? { ...call, isModern: false, capabilities: undefined } : undefined;
}

function saysWhatItTakes({ accept = '', 'content-type': type }: IncomingHttpHeaders): boolean {
  return type === 'application/json' && accept.includes('application/json') && accept.includes('text/event-stream');
}

function isModernCall(headers: IncomingHttpHeaders, name: string): boolean {
  return (
    headers['mcp-protocol-version'] === modern && headers['mcp-method'] === 'tools/call' && headers['mcp-name'] === name
  );
}

/** Of protocols with a handshake, which came before and is not kept. */
function isOlderCall(headers: IncomingHttpHeaders): boolean {
  const version = headers['mcp-protocol-version'];
  const isKnown = version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(version as string);
  return isKnown && !['mcp-method', 'mcp-name', 'mcp-session-id'].some((name) => name in headers);
}

function capabilitiesIn(meta: unknown): ClientCapabilities | undefined {
  if (!hasOnly(meta, [PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY])) return undefined;
  const client = meta[CLIENT_INFO_META_KEY];
  const capabilities = meta[CLIENT_CAPABILITIES_META_KEY];
  const isPlain =
    meta[PROTOCOL_VERSION_META_KEY] === modern &&
    (!(CLIENT_INFO_META_KEY in meta) || isPlainClient(client)) &&
    hasOnly(capabilities, ['elicitation', 'sampling']) &&
    Object.values(capabilities).every((one) => isObject(one) && Object.values(one).every((mode) => hasOnly(mode, [])));
  return isPlain ? (capabilities as ClientCapabilities) : undefined;
}

function isPlainClient(client: unknown): boolean {
  return (
    hasOnly(client, ['name', 'version', 'title']) &&
    'name' in client &&
    'version' in client &&
    Object.values(client).every((text) => typeof text === 'string')
  );
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasOnly(value: unknown, names: readonly string[]): value is Members {
  return isObject(value) && Object.keys(value).every((name) => names.includes(name));
}

interface Answer {
  readonly type: string;
  readonly text: string;
}

/** As the library answers: with JSON, and in older protocols with a stream of one event. */
export function answerPlainCall(
  { id, isModern }: PlainCall,
  result: CallToolResult | InputRequiredResult,
  server: Implementation,
): Answer {
  if (!isModern) {
    const text = JSON.stringify({ result, jsonrpc: '2.0', id });
    return { type: 'text/event-stream', text: `event: message\ndata: ${text}\n\n` };
  }
  const said = { resultType: 'complete', ...result, _meta: { [SERVER_INFO_META_KEY]: server } };
  return { type: 'application/json', text: JSON.stringify({ result: said, jsonrpc: '2.0', id }) };
}
