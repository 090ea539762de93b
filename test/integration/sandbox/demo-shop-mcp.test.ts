import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { openDemoShop } from '../../support/demo-shop.ts';
import { address, paymentWith } from '../../support/shop-client.ts';
import { complaintsAboutCheckout } from '../../support/ucp-schemas.ts';

const shop = await openDemoShop();
afterAll(() => shop.close());
afterEach(() => {
  shop.switches.behave();
  shop.service.answerWith();
});

const versions = ['2026-08-25', '2026-04-08'] as const;
type Version = (typeof versions)[number];
const itemId = '101-1';
const line_items = [{ item: { id: itemId }, quantity: 1 }];

// biome-ignore lint/suspicious/noExplicitAny: whatever it answers
type Told = any;

async function send(body: unknown, { version = versions[0] as Version, method = 'POST', headers = {} } = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const reply = await fetch(`${shop.shopUrl()}/ucp/${version}/mcp`, {
    method,
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    ...(method === 'POST' && { body: text }),
  });
  const told = await reply.text();
  return {
    status: reply.status,
    allow: reply.headers.get('allow'),
    told: (told === '' ? undefined : JSON.parse(told)) as Told,
  };
}

const rpc = async (method: string, params?: object, version?: Version) =>
  (await send({ jsonrpc: '2.0', id: 7, method, params }, { ...(version && { version }) })).told;

/** One call of a tool by an agent with a profile, under a key of its own unless another is given. */
async function call(
  name: string,
  given: object,
  {
    version = versions[0] as Version,
    key = randomUUID() as string | undefined,
    profile = `${shop.service.url}/.well-known/ucp` as unknown,
  } = {},
) {
  const meta = { 'ucp-agent': { profile }, ...(key !== undefined && { 'idempotency-key': key }) };
  const told = await rpc('tools/call', { name, arguments: { meta, ...given } }, version);
  return { error: told.error, result: told.result?.structuredContent, text: told.result?.content?.[0]?.text };
}

const ready = {
  line_items,
  fulfillment: {
    methods: [
      { type: 'shipping', destinations: [address], groups: [{ id: 'parcel', selected_option_id: 'standard' }] },
    ],
  },
};

describe('the door for MCP', () => {
  test.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
    'greets who speaks %s in that',
    async (protocolVersion) => {
      const { result } = await rpc('initialize', {
        protocolVersion,
        capabilities: {},
        clientInfo: { name: 'x', version: '1' },
      });
      expect(result).toMatchObject({
        protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'Harbour & Hearth' },
      });
    },
  );

  test('greets others in the newest that it speaks, hears notifications, and is there', async () => {
    expect((await rpc('initialize', { protocolVersion: '1999-01-01' })).result.protocolVersion).toBe('2025-11-25');
    expect(await send({ jsonrpc: '2.0', method: 'notifications/initialized' })).toMatchObject({
      status: 202,
      told: undefined,
    });
    expect((await rpc('ping')).result).toEqual({});
  });

  test.each(versions)('lists in %s every tool that it has, with what each takes', async (version) => {
    const { tools } = (await rpc('tools/list', undefined, version)).result;
    expect(tools.map(({ name }: Told) => name)).toEqual([
      'search_catalog',
      'lookup_catalog',
      'get_product',
      'create_checkout',
      'get_checkout',
      'update_checkout',
      'complete_checkout',
      'cancel_checkout',
    ]);
    for (const { inputSchema } of tools)
      expect(inputSchema).toMatchObject({ type: 'object', properties: { meta: {} } });
    expect(tools[6].inputSchema.properties.meta.required).toEqual(['ucp-agent', 'idempotency-key']);
  });

  const meta = { 'ucp-agent': { profile: 'http://127.0.0.1:1/' } };
  const wrong: readonly [string, unknown, number][] = [
    ['what is no JSON', '{"jsonrpc":', -32_700],
    ['a batch', [{ jsonrpc: '2.0', id: 7, method: 'ping' }], -32_600],
    ['another protocol', { id: 7, method: 'ping' }, -32_600],
    ['an id of nothing', { jsonrpc: '2.0', id: null, method: 'ping' }, -32_600],
    ['an unknown method', { jsonrpc: '2.0', id: 7, method: 'resources/list' }, -32_601],
    ['a method of every object', { jsonrpc: '2.0', id: 7, method: 'constructor' }, -32_601],
    [
      'an unknown tool',
      { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'create_cart', arguments: { meta } } },
      -32_602,
    ],
    ['no arguments', { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'search_catalog' } }, -32_001],
    [
      'arguments without a catalog',
      { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'search_catalog', arguments: { meta } } },
      -32_602,
    ],
    [
      'an order without a key',
      {
        jsonrpc: '2.0',
        id: 7,
        method: 'tools/call',
        params: { name: 'complete_checkout', arguments: { meta, id: 'x', checkout: paymentWith('t') } },
      },
      -32_602,
    ],
  ];
  test.each(wrong)('refuses %s', async (_what, body, code) => {
    const { status, told } = await send(body);
    expect([status, told.error.code]).toEqual([200, code]);
    expect(told.error.message).not.toBe('');
  });

  test('is for requests alone: no stream, no page of somebody else’s', async () => {
    expect(await send('', { method: 'GET' })).toMatchObject({ status: 405, allow: 'POST' });
    expect(await send('', { method: 'DELETE' })).toMatchObject({ status: 405 });
    const body = { jsonrpc: '2.0', id: 7, method: 'ping' };
    expect((await send(body, { headers: { origin: 'https://evil.example' } })).status).toBe(403);
  });

  test.each([
    ['none', undefined, 'invalid_profile_url'],
    ['a stranger’s', 'https://agent.example/ucp', 'profile_not_trusted'],
    ['one that does not answer', 'http://127.0.0.1:1/', 'profile_unreachable'],
  ])('refuses whose profile is %s', async (_what, profile, code) => {
    const { error } = await call('create_checkout', { checkout: ready }, { profile: profile ?? null });
    expect(error).toMatchObject({ code: -32_001, data: { code } });
  });
});

describe.each(versions)('a checkout over MCP, in %s', (version) => {
  const at = (key?: string) => ({ version, ...(key !== undefined && { key }) });

  test('is begun, changed, looked at, paid once, and the same as over REST', async () => {
    const begun = await call('create_checkout', { checkout: { line_items } }, at());
    expect(begun.result.status).toBe('incomplete');
    expect(JSON.parse(begun.text)).toEqual(begun.result);
    const { id } = begun.result;
    expect((await call('update_checkout', { id, checkout: ready }, at())).result.status).toBe('ready_for_complete');
    const before = shop.service.asked.length;
    const key = randomUUID();
    const pay = () => call('complete_checkout', { id, checkout: paymentWith(`tok_${key}`) }, at(key));
    const paid = await Promise.all([pay(), pay()]);
    expect((await pay()).result).toEqual(paid[0]?.result);
    expect(paid.map(({ result }) => result.status)).toEqual(['completed', 'completed']);
    expect(shop.service.asked.length - before).toBe(1);
    const { result } = await call('get_checkout', { id }, at());
    expect(complaintsAboutCheckout(version, result)).toEqual([]);
    const overRest = await shop.clientOf(version).show(id);
    expect(overRest.body).toEqual(result);
    const conflict = await call('cancel_checkout', { id }, at(key));
    expect(conflict.error).toMatchObject({ code: -32_000, data: { code: 'idempotency_conflict' } });
  });

  test('that was begun over REST is canceled over MCP', async () => {
    const { body } = await shop.clientOf(version).create(itemId);
    expect((await call('cancel_checkout', { id: body.id }, at())).result.status).toBe('canceled');
  });

  test('says what is wrong as results, and what cannot be read as errors', async () => {
    const none = await call('get_checkout', { id: 'chk_none' }, at());
    expect(none.result).toMatchObject({ ucp: { status: 'error' }, messages: [{ code: 'not_found' }] });
    const unknown = await call(
      'create_checkout',
      { checkout: { line_items: [{ item: { id: 'no' }, quantity: 1 }] } },
      at(),
    );
    expect(unknown.result.messages[0].code).toBe('item_unavailable');
    expect((await call('create_checkout', { checkout: { line_items: [] } }, at())).error.code).toBe(-32_602);
    shop.service.answerWith(() => ({ status: 409, body: { detail: 'Not for you.' } }));
    const { id } = (await call('create_checkout', { checkout: ready }, at())).result;
    const refused = await call('complete_checkout', { id, checkout: paymentWith('tok_x') }, at());
    expect(refused.result).toMatchObject({ status: 'ready_for_complete', messages: [{ code: 'payment_failed' }] });
  });

  test('without a key is begun each time anew', async () => {
    const ids = [1, 2].map(
      async () => (await call('create_checkout', { checkout: ready }, { version, key: undefined })).result.id,
    );
    expect(new Set(await Promise.all(ids)).size).toBe(2);
  });
});

describe.each(versions)('the catalog of %s', (version) => {
  const ask = async (path: string, body: object): Promise<Told> =>
    (
      await fetch(`${shop.shopUrl()}/ucp/${version}/catalog/${path}`, { method: 'POST', body: JSON.stringify(body) })
    ).json();

  test.each([
    ['search_catalog', 'search', { query: 'mug' }],
    ['search_catalog', 'search', {}],
    ['lookup_catalog', 'lookup', { ids: ['101', itemId, 'none'] }],
    ['get_product', 'product', { id: itemId }],
    ['get_product', 'product', { id: 'none' }],
  ])('answers %s alike over REST and MCP', async (name, path, catalog) => {
    const { result } = await call(name, { catalog }, { version });
    expect(result).toEqual(await ask(path, catalog));
  });

  test('says which id has led to what, and what is not there', async () => {
    const { products, messages } = await ask('lookup', { ids: ['101', itemId, 'none'] });
    expect(products).toHaveLength(1);
    expect(products[0].variants[0].inputs).toEqual([
      { id: '101', match: 'featured' },
      { id: itemId, match: 'exact' },
    ]);
    expect(messages).toMatchObject([{ type: 'info', code: 'not_found' }]);
  });
});

describe('a search for nothing finds nothing', () => {
  const queries = ['', '   ', 'zzzzqqq', '!?'];
  const get = async (path: string) => (await fetch(`${shop.shopUrl()}${path}`)).text();
  const asUcp = (version: Version) => async (query: string) =>
    (await call('search_catalog', { catalog: { query } }, { version })).result.products;
  const ways: Readonly<Record<string, (query: string) => Promise<unknown[]>>> = {
    'UCP 2026-08-25': asUcp('2026-08-25'),
    'UCP 2026-04-08': asUcp('2026-04-08'),
    Shopify: async (query) =>
      JSON.parse(await get(`/search/suggest.json?q=${encodeURIComponent(query)}`)).resources?.results.products ?? [],
    WooCommerce: async (query) =>
      JSON.parse(await get(`/wp-json/wc/store/v1/products?search=${encodeURIComponent(query)}`)),
    'the search page': async (query) => [
      ...(await get(`/search?q=${encodeURIComponent(query)}`)).matchAll(/class="shelf"/g),
    ],
  };
  test.each(Object.keys(ways))('by %s', async (way) => {
    for (const query of queries) expect(await ways[way]?.(query), JSON.stringify(query)).toEqual([]);
    expect((await ways[way]?.('mug'))?.length).toBeGreaterThan(0);
  });

  test('and without any search WooCommerce shows what there is', async () => {
    expect(JSON.parse(await get('/wp-json/wc/store/v1/products')).length).toBeGreaterThan(0);
  });
});
