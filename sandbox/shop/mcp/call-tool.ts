import { randomUUID } from 'node:crypto';
import { fingerprintOf } from '../checkout/once.ts';
import { json, type ShopReply } from '../message.ts';
import { readAs } from '../read-as.ts';
import type { ShopRequest } from '../shop.ts';
import { type Fields, fieldsOf, type UcpVersion } from '../ucp-versions.ts';
import { readCatalog } from '../ways/ucp.ts';
import { RpcError, type RpcRequest } from './rpc.ts';
import { type Tool, toolsOf } from './tools.ts';

export async function callTool(request: ShopRequest, version: UcpVersion, rpc: RpcRequest): Promise<ShopReply> {
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
