import { randomUUID } from 'node:crypto';
import { fingerprintOf } from '../checkout/answer-checkout.ts';
import { json, type ShopReply } from '../message.ts';
import type { ShopRequest } from '../shop.ts';
import { type Fields, fieldsOf, readAs, readUcpPath, type UcpVersion } from '../ucp-versions.ts';
import { readCatalog } from '../ways/ucp.ts';
import { type Tool, toolsOf } from './tools.ts';

interface RpcRequest {
  readonly id: string | number;
  readonly method: string;
  readonly params: Fields;
}

/** Ends a request with a JSON-RPC error. */
class RpcError extends Error {
  readonly code: number;
  readonly data: object | undefined;

  constructor(code: number, message: string, data?: object) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

async function callTool(request: ShopRequest, version: UcpVersion, rpc: RpcRequest): Promise<ShopReply> {
  const { shop, origin } = request;
  const { name, arguments: given } = rpc.params;
  const tool = toolsOf(shop).find((one) => one.name === name);
  if (tool === undefined) throw new RpcError(-32_602, `This shop has no tool ${String(name).slice(0, 100)}.`);
  const args = readArguments(tool, given);
  if (tool.kind === 'catalog') {
    return toResult(rpc, json(readCatalog(tool.verb, { shop, origin, body: args['catalog'] }, version)));
  }
  if (shop.checkout === undefined) throw new Error('a shop without a checkout offers none');
  const { meta, ...asked } = args;
  const { 'ucp-agent': agent, 'idempotency-key': key = randomUUID() } = fieldsOf(meta);
  const reply = await shop.checkout.call({
    version,
    verb: tool.verb,
    sessionId: tool.verb === 'create' ? '' : String(args['id']),
    origin,
    body: args['checkout'],
    profile: fieldsOf(agent)['profile'],
    // `meta` says who asks and how, so it is not part of the fingerprint.
    request: { key, fingerprint: fingerprintOf(`mcp ${version} ${tool.name}`, JSON.stringify(asked)) },
  });
  return toResult(rpc, reply);
}

/** Validates the arguments and returns them unchanged. */
function readArguments(tool: Tool, given: unknown): Fields {
  const { meta } = fieldsOf(given);
  if (typeof fieldsOf(fieldsOf(meta)['ucp-agent'])['profile'] !== 'string') {
    throw new RpcError(-32_001, 'UCP discovery failed', {
      code: 'invalid_profile_url',
      content: 'arguments.meta["ucp-agent"].profile must name a profile.',
    });
  }
  readAs(tool.schema, given, (path, why) => new RpcError(-32_602, `arguments.${path} ${why}.`));
  return fieldsOf(given);
}

const aboutProfiles = new Set([
  'invalid_profile_url',
  'profile_unreachable',
  'profile_malformed',
  'profile_not_trusted',
  'version_unsupported',
]);

/** Translates a REST response to MCP: a business outcome is a result, a protocol error an error. */
function toResult({ id }: RpcRequest, reply: ShopReply): ShopReply {
  const told = readJson(String(reply.body));
  // A deliberately malformed response stays malformed.
  if (told === undefined) return reply;
  if (reply.status < 400) {
    const result = { content: [{ type: 'text', text: String(reply.body) }], structuredContent: told };
    return { ...reply, ...json({ jsonrpc: '2.0', id, result }) };
  }
  const { code, content } = told;
  const error =
    code === 'invalid_request'
      ? { code: -32_602, message: String(content) }
      : aboutProfiles.has(String(code))
        ? { code: -32_001, message: 'UCP discovery failed', data: { code, content } }
        : { code: -32_000, message: String(content), data: { code, content } };
  return { ...reply, ...json({ jsonrpc: '2.0', id, error }), ...(reply.status >= 500 && { status: reply.status }) };
}

function readJson(text: string): Fields | undefined {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Compatible MCP versions, newest first. */
const spoken = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

/**
 * MCP over streamable HTTP: one request at a time, without sessions or streams. Undefined for any other path and for a shop
 * without UCP.
 */
export async function answerMcp(request: ShopRequest): Promise<ShopReply | undefined> {
  const { shop, url, method, headers, origin, body } = request;
  const { version, rest } = readUcpPath(url.pathname) ?? {};
  if (version === undefined || rest !== '/mcp' || toolsOf(shop).length === 0) return undefined;
  if (method !== 'POST') return { status: 405, type: 'text/plain', body: '', headers: { Allow: 'POST' } };
  // Rejects foreign web pages in a local browser.
  if (headers.origin !== undefined && headers.origin !== origin) return { status: 403, type: 'text/plain', body: '' };
  const { id, method: called, params } = fieldsOf(body);
  const hasId = typeof id === 'string' || typeof id === 'number';
  try {
    if (body === undefined) throw new RpcError(-32_700, 'The body is not JSON, or is too long.');
    if (Array.isArray(body)) throw new RpcError(-32_600, 'Batches are not answered: send one request at a time.');
    if (fieldsOf(body)['jsonrpc'] !== '2.0' || typeof called !== 'string') {
      throw new RpcError(-32_600, 'This is no request of JSON-RPC 2.0.');
    }
    // Notifications have no effect.
    if (id === undefined) return { status: 202, type: 'application/json', body: '' };
    if (!hasId) throw new RpcError(-32_600, 'The id of a request is text or a number.');
    return await answerRequest(request, version, { id, method: called, params: fieldsOf(params) });
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const { code, message, data } = error;
    return json({ jsonrpc: '2.0', id: hasId ? id : null, error: { code, message, ...(data && { data }) } });
  }
}

async function answerRequest(request: ShopRequest, version: UcpVersion, rpc: RpcRequest): Promise<ShopReply> {
  const { shop } = request;
  const answers: Readonly<Record<string, () => object>> = {
    initialize: () => describeServer(shop.name, rpc.params),
    ping: () => ({}),
    'tools/list': () => ({
      tools: toolsOf(shop).map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
    }),
  };
  if (rpc.method === 'tools/call') return callTool(request, version, rpc);
  const answer = Object.hasOwn(answers, rpc.method) ? answers[rpc.method] : undefined;
  if (answer === undefined)
    throw new RpcError(-32_601, `This shop does not know the method ${rpc.method.slice(0, 100)}.`);
  return json({ jsonrpc: '2.0', id: rpc.id, result: answer() });
}

/** The client's version if supported; otherwise the client decides. */
function describeServer(name: string, { protocolVersion }: Fields): object {
  return {
    protocolVersion: spoken.find((version) => version === protocolVersion) ?? spoken[0],
    capabilities: { tools: {} },
    serverInfo: { name, version: '1.0.0' },
  };
}
