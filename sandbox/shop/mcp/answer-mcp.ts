import { json, type ShopReply } from '../message.ts';
import type { ShopRequest } from '../shop.ts';
import { type Fields, fieldsOf, readUcpPath, type UcpVersion } from '../ucp-versions.ts';
import { callTool } from './call-tool.ts';
import { RpcError, type RpcRequest } from './rpc.ts';
import { toolsOf } from './tools.ts';

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
