import { beforeAll, describe, expect, test } from 'vitest';
import type { TestAccount } from '../support/client.ts';
import { useService } from '../support/service.ts';

const service = useService();
let ada: TestAccount;
beforeAll(async () => {
  ada = await service.client.register();
});

const search = (website: string, query = 'mug') =>
  service.client.post('/shopping/search', { website, query }, ada.key);

test('finds mugs', async () => {
  const t = Date.now();
  const { status, body } = await search('demo-shop.example');
  console.log(Date.now() - t, JSON.stringify(body, null, 1));
  expect(status).toBe(200);
  const reply = await fetch(`${service.url}/api/shopping/search/stream?q=mug&website=demo-shop.example`, { headers: { authorization: `Bearer ${ada.key}` } });
  console.log(await reply.text());
});
