import { privateKeyToAddress } from 'viem/accounts';
import { beforeAll, expect, test } from 'vitest';
import { eras } from '../../support/agents.ts';
import type { Client, TestAccount } from '../../support/client.ts';
import { mug } from '../../support/mug.ts';
import { useService } from '../../support/service.ts';

const service = useService({ settings: { orders: { waitSeconds: 25 } } });

/** 100 by command: `LOST_RESPONSES=100 npm test -- test/integration/mcp/lost-results.test.ts`. */
const lostResults = Number(process.env['LOST_RESPONSES'] ?? 5);

let client: Client;

beforeAll(() => {
  client = service.client;
});

const outside = privateKeyToAddress(`0x${'7'.repeat(64)}`);

const payments: Readonly<Record<string, (friend: TestAccount) => object>> = {
  send_money: ({ handle }) => ({ to: handle, amount: 7, currency: 'USDC' }),
  withdraw: () => ({ address: outside, amount: 7, currency: 'USDC' }),
  bridge: () => ({ from: 'MATIC', to: 'BASE', amount: 7 }),
  swap: () => ({ from: 'USDC', to: 'ETH', amount: 7 }),
  buy_product: () => mug,
};

test.each(Object.entries(payments))(
  '%s: a model that lost the result and calls again pays once',
  async (tool, make) => {
    const owner = await client.register();
    const friend = await client.register();
    expect((await client.post('/sandbox/fund', { amount: 500 }, owner.key)).status).toBe(200);
    const agent = await eras['2026-07-28']({ url: service.url, key: owner.key });
    const given = make(friend);

    const paid = await agent.call(tool, given);
    expect(paid.isError, paid.content[0]?.text).toBeUndefined();
    let newest = '';
    for (let call = 0; call < lostResults; call++) {
      const idempotencyKey = call % 2 === 0 ? `plan-${call}` : undefined;
      const again = await agent.call(tool, { ...given, idempotencyKey });
      expect(again, again.content[0]?.text).toMatchObject({
        isError: true,
        structuredContent: { code: 'possible_duplicate', duplicateOf: { id: expect.any(String) } },
      });
      newest = again.structuredContent.duplicateOf.id;
    }
    // What the refusal names is the payment that was made.
    expect(JSON.stringify(paid.structuredContent)).toContain(newest);

    const meant = { ...given, notDuplicateOf: newest };
    expect((await agent.call(tool, meant)).isError).toBeUndefined();
    expect(await agent.call(tool, meant)).toMatchObject({ structuredContent: { code: 'possible_duplicate' } });
    await agent.close();
  },
);
