import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eras, type McpAgent } from '../../support/agents.ts';
import type { Client, TestAccount } from '../../support/client.ts';
import { useService } from '../../support/service.ts';

const service = useService();

let client: Client;
let owner: TestAccount;
let friend: TestAccount;

beforeAll(async () => {
  client = service.client;
});

beforeEach(async () => {
  owner = await client.register();
  friend = await client.register();
  expect((await client.post('/sandbox/fund', { amount: 100 }, owner.key)).status).toBe(200);
});

describe.each(Object.entries(eras))('a client of protocol %s', (_era, connect) => {
  let agent: McpAgent;

  beforeEach(async () => {
    agent = await connect({ url: service.url, key: owner.key });
  });
  afterEach(() => agent.close());

  test('sees all tools in a fixed order, in little text', async () => {
    const tools = await agent.tools();
    expect(tools.map(({ name }) => name)).toHaveLength(20);
    expect(JSON.stringify(tools).length).toBeLessThanOrEqual(24 * 1024);
  });

  test('pays once, is refused clearly, and looks the payment up', async () => {
    const paid = await agent.call('send_money', { to: friend.handle, amount: 5, currency: 'USDC', note: null });
    expect(paid.structuredContent).toMatchObject({ status: 'complete', amount: 5, fee: 0.07 });
    expect(JSON.parse(paid.content[0]?.text ?? '')).toEqual(paid.structuredContent);
    const { transferId } = paid.structuredContent;

    const again = await agent.call('send_money', { to: friend.handle, amount: 5, currency: 'USDC' });
    expect(again).toMatchObject({
      isError: true,
      structuredContent: { code: 'possible_duplicate', duplicateOf: { id: transferId } },
    });
    expect(again.structuredContent.nextStep).toContain(transferId);

    const found = await agent.call('get_operation', { id: transferId });
    expect(found.structuredContent).toMatchObject({ transferId, direction: 'sent', final: true });
  });

  test('gets wrong arguments and unknown ids as results', async () => {
    const wrong = await agent.call('send_money', { to: friend.handle, amount: [], currency: 'USD', colour: 'red' });
    expect(wrong.isError).toBe(true);
    expect(wrong.structuredContent.code).toBe('invalid_request');
    expect(wrong.structuredContent.errors.map(({ path }: { path: string }) => path).sort()).toEqual([
      'amount',
      'colour',
      'currency',
    ]);
    for (const id of ['wdr_01kp3v2m8rfk2s6y0e6v9q4w1x', 'nothing', 'trf_x', 7]) {
      const missing = await agent.call('get_operation', { id });
      expect(missing).toMatchObject({ isError: true, structuredContent: { nextStep: expect.any(String) } });
    }
  });

  test('knows no tool outside the scopes of its key', async () => {
    const { body } = await client.post('/account/keys', { name: 'reader', scopes: ['read'] }, owner.key);
    const reader = await connect({ url: service.url, key: body.apiKey });
    const names = (await reader.tools()).map(({ name }) => name);
    expect(names).toContain('get_balance');
    expect(names).not.toContain('send_money');
    await expect(reader.call('send_money', {})).rejects.toMatchObject({ code: -32602 });
    await reader.close();
  });
});
