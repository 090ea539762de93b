import { privateKeyToAddress } from 'viem/accounts';
import { beforeAll, describe, expect, test } from 'vitest';
import { eras, type McpAgent } from '../../support/agents.ts';
import type { Client, TestAccount } from '../../support/client.ts';
import { mug } from '../../support/mug.ts';
import { useService } from '../../support/service.ts';

const service = useService({ settings: { orders: { waitSeconds: 25 } } });

let client: Client;

beforeAll(() => {
  client = service.client;
});

const outside = privateKeyToAddress(`0x${'7'.repeat(64)}`);
/** What each tool is called with, and something of its result. `last` is the result before it. */
const calls: readonly (readonly [
  tool: string,
  given: (friend: TestAccount, last: Record<string, string>) => object,
  result: object,
])[] = [
  ['get_account', () => ({}), { handle: expect.any(String) }],
  ['get_balance', () => ({}), { USDC: expect.any(String) }],
  ['find_recipient', ({ handle }) => ({ handle }), { found: true }],
  ['quote_fee', ({ handle }) => ({ to: handle, amount: 50, currency: 'USDC' }), { fee: 0.75 }],
  [
    'check_budget',
    ({ handle }) => ({ operation: 'transfer', request: { to: handle, amount: 3, currency: 'USDC' } }),
    { outcome: 'allow' },
  ],
  ['send_money', ({ handle }) => ({ to: handle, amount: '3', currency: 'USDC' }), { status: 'complete' }],
  ['get_operation', (_, { transferId }) => ({ id: transferId }), { final: true, direction: 'sent' }],
  [
    'create_invoice',
    ({ handle }) => ({ toHandle: handle, amount: 4, currency: 'USDC', description: 'Work' }),
    { status: 'pending' },
  ],
  ['get_operation', (_, { id }) => ({ id }), { final: false, status: 'pending' }],
  ['list_invoices', () => ({ limit: 10 }), { invoices: [{ status: 'pending' }] }],
  ['add_money', () => ({ amount: 20 }), { url: expect.any(String) }],
  ['withdraw', () => ({ address: outside, amount: 10, currency: 'USDC' }), { txId: expect.any(String) }],
  ['wait_for', (_, { txId }) => ({ id: txId, timeoutSeconds: 60 }), { final: true, status: 'complete' }],
  ['bridge', () => ({ from: 'MATIC', to: 'BASE', amount: 10 }), { transferId: expect.any(String) }],
  ['get_operation', (_, { transferId }) => ({ id: transferId }), { final: expect.any(Boolean) }],
  ['swap_quote', () => ({ from: 'USDC', to: 'ETH', amount: 5 }), {}],
  ['swap', () => ({ from: 'USDC', to: 'ETH', amount: 5 }), {}],
  ['search_products', () => ({ website: 'demo-shop.example', query: 'mug' }), { products: expect.any(Array) }],
  ['buy_product', () => mug, { orderId: expect.any(String) }],
  ['get_operation', (_, { orderId }) => ({ id: orderId }), { final: true }],
  ['list_history', () => ({ limit: '5' }), { transfers: expect.any(Array) }],
];

describe.each(Object.entries(eras))('a client of protocol %s', (_era, connect) => {
  test('calls every tool, and each result fits its schema', async () => {
    const owner = await client.register();
    const friend = await client.register();
    expect((await client.post('/sandbox/fund', { amount: 500 }, owner.key)).status).toBe(200);
    const agent = await connect({ url: service.url, key: owner.key });
    // From now on the client itself checks each result.
    const tools = await agent.tools();
    let last: Record<string, string> = {};
    for (const [tool, given, expected] of calls) {
      const result = await agent.call(tool, given(friend, last));
      expect(result, `${tool}: ${result.content[0]?.text}`).not.toHaveProperty('isError', true);
      expect(result.structuredContent, tool).toMatchObject(expected);
      last = result.structuredContent;
    }
    await payInvoice(agent, owner, friend);
    const called = new Set([...calls.map(([tool]) => tool), 'pay_invoice', 'pay_url']);
    expect(tools.map(({ name }) => name).filter((name) => !called.has(name))).toEqual([]);
    await agent.close();
  });
});

async function payInvoice(agent: McpAgent, owner: TestAccount, friend: TestAccount): Promise<void> {
  const invoice = { toHandle: owner.handle, amount: 2, currency: 'USDC', description: 'Help' };
  const { body } = await client.post('/invoices', invoice, friend.key);
  const paid = await agent.call('pay_invoice', { id: body.id });
  expect(paid.structuredContent).toMatchObject({ id: body.id, status: 'paid' });
  // Nothing listens there, so the refusal is what is checked.
  const refused = await agent.call('pay_url', { url: 'https://seller.invalid/forecast', maxAmount: 0.05 });
  expect(refused).toMatchObject({ isError: true, structuredContent: { nextStep: expect.any(String) } });
}

test('resources and prompts', async () => {
  const owner = await client.register();
  expect((await client.post('/sandbox/fund', { amount: 50 }, owner.key)).status).toBe(200);
  const { client: mcp, call, close } = await eras['2026-07-28']({ url: service.url, key: owner.key });
  const reader = mcp as { readResource(given: { uri: string }): Promise<{ contents: { text?: string }[] }> };
  const read = async (uri: string) => (await reader.readResource({ uri })).contents[0]?.text ?? '';
  const { transfers } = (await call('list_history')).structuredContent;
  const month = transfers[0].createdAt.slice(0, 7);

  expect(JSON.parse(await read(`paywright://statement/${month}`))).toMatchObject({ month });
  expect(JSON.parse(await read(`paywright://receipt/${transfers[0].transferId}`))).toMatchObject({ type: 'deposit' });
  expect(await read('paywright://reference')).toContain('send');
  await expect(read('paywright://receipt/trf_01kp3v2m8rfk2s6y0e6v9q4w1x')).rejects.toThrow();
  await expect(read('paywright://other')).rejects.toThrow();

  const { prompts } = await mcp.listPrompts();
  expect(prompts.map(({ name }) => name)).toEqual(['pay_somebody', 'review_spending']);
  const prompt = await mcp.getPrompt({ name: 'review_spending', arguments: { month } });
  expect(JSON.stringify(prompt.messages)).toContain(month);
  await expect(mcp.getPrompt({ name: 'pay_somebody', arguments: {} })).rejects.toThrow('recipient');
  await close();
});
