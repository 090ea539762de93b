import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eras } from '../../support/agents.ts';
import type { Client, TestAccount } from '../../support/client.ts';
import { useService } from '../../support/service.ts';

const service = useService({ env: { RATE_LIMIT_FREE_PER_MINUTE: '30' } });

let client: Client;
let owner: TestAccount;

beforeAll(() => {
  client = service.client;
});

beforeEach(async () => {
  owner = await client.register();
});

const ping = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

const post = (headers: Record<string, string> = {}, body: unknown = ping) =>
  fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${owner.key}`,
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

test('needs a key, and says so', async () => {
  for (const authorization of ['', 'Bearer pa_live_nothing', 'Basic eA==']) {
    const reply = await post({ authorization });
    expect(reply.status).toBe(401);
    const where = `resource_metadata="${service.url}/.well-known/oauth-protected-resource/mcp"`;
    expect(reply.headers.get('www-authenticate')).toContain(where);
    expect(await reply.json()).toMatchObject({ code: 'unauthorized' });
  }
});

test('refuses pages of other sites, GET, DELETE and large bodies', async () => {
  expect((await post({ origin: 'https://evil.example' })).status).toBe(403);
  expect((await post({ origin: 'null' })).status).toBe(403);
  expect((await post({ origin: service.url })).status).toBe(200);
  for (const method of ['GET', 'DELETE']) {
    const reply = await fetch(`${service.url}/mcp`, { method, headers: { authorization: `Bearer ${owner.key}` } });
    expect(reply.status).toBe(405);
    expect(reply.headers.get('allow')).toBe('POST');
  }
  expect((await post({}, { ...ping, params: { text: 'x'.repeat(70_000) } })).status).toBe(413);
});

test('keeps no session', async () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  };
  const reply = await post({}, initialize);
  expect(reply.status).toBe(200);
  expect(reply.headers.get('mcp-session-id')).toBeNull();
  expect(await reply.text()).toContain('"protocolVersion":"2025-06-18"');
});

test('counts one request for each call, against the limit of the account', async () => {
  let refused = 0;
  for (let call = 0; call < 35; call++) {
    const reply = await post({}, { ...ping, method: 'tools/call', params: { name: 'get_balance', arguments: {} } });
    if (reply.status === 429) refused++;
    else expect(reply.status).toBe(200);
    await reply.text();
  }
  expect(refused).toBe(5);
  expect((await client.get('/circle/balance', owner.key)).status).toBe(429);
});

test('counts each message of a batch, which protocol 2025-03-26 has', async () => {
  const batch = (size: number) => Array.from({ length: size }, (_, id) => ({ ...ping, id }));
  expect((await post({}, batch(28))).status).toBe(200);
  expect((await client.get('/circle/balance', owner.key)).headers.get('ratelimit')).toContain('r=1;');
  const refused = await post({}, batch(2));
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({ code: 'rate_limited' });
});

test('answers a notification with nothing', async () => {
  const reply = await post({}, { jsonrpc: '2.0', method: 'notifications/initialized' });
  expect(reply.status).toBe(202);
  expect(await reply.text()).toBe('');
});

test('refuses a revoked key at once', async () => {
  const { body } = await client.post('/account/keys', { name: 'agent' }, owner.key);
  const agent = await eras['2026-07-28']({ url: service.url, key: body.apiKey });
  expect((await agent.call('get_balance')).isError).toBeUndefined();
  expect((await client.request('DELETE', `/account/keys/${body.id}`, { key: owner.key })).status).toBe(200);
  await expect(agent.call('get_balance')).rejects.toThrow();
});

test.each([
  '',
  '[]',
  '{',
  'null',
  '7',
  '{"jsonrpc":"1.0"}',
  '[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]',
  '{"jsonrpc":"2.0","id":1,"method":"nothing"}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_balance","arguments":[]}}',
  '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}',
])('answers %s with a clear error and no stack', async (body) => {
  const reply = await post({}, body);
  const text = await reply.text();
  expect(reply.status, text).toBeLessThan(500);
  expect(text).not.toMatch(/at \w+ \(|node_modules|\.ts:/);
});

describe('a call that the library is not asked about', () => {
  const newest = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'get_account' };
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const call = { ...ping, method: 'tools/call' };
  const params = { name: 'get_account', arguments: {} };

  async function answer(headers: Record<string, string>, body: object) {
    const reply = await post(headers, body);
    // How it is transported: the library writes streams, and these answers are whole.
    const own = [
      'date',
      'x-request-id',
      'ratelimit',
      'content-length',
      'transfer-encoding',
      'keep-alive',
      'x-accel-buffering',
    ];
    return {
      status: reply.status,
      headers: Object.fromEntries([...reply.headers].filter(([name]) => !own.includes(name))),
      body: JSON.parse((await reply.text()).replace(/^event: message\ndata: /, '')),
    };
  }

  test.each([
    ['2026-07-28', newest, { ...params, _meta: meta }, { ...params, _meta: { ...meta, 'example.com/other': 1 } }],
    ['2025-11-25', { 'mcp-protocol-version': '2025-11-25' }, params, { ...params, _meta: {} }],
    ['2025-03-26', {}, params, { ...params, _meta: {} }],
  ])('has the status and the headers of any other, in protocol %s', async (_version, headers, plain, other) => {
    const answered = await answer(headers, { ...call, params: plain });
    expect(answered.body.result.structuredContent).toMatchObject({ handle: owner.handle });
    expect(answered).toEqual(await answer(headers, { ...call, params: other }));
  });

  test('is also refused for a tool outside the scopes of its key', async () => {
    const { body } = await client.post('/account/keys', { name: 'reader', scopes: ['read'] }, owner.key);
    const send = { name: 'send_money', arguments: { to: owner.handle, amount: 1, currency: 'USDC' } };
    const reply = await post({ authorization: `Bearer ${body.apiKey}` }, { ...call, params: send });
    expect(await reply.text()).toContain('"code":-32602');
  });
});
