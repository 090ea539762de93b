import { beforeAll, expect, test } from 'vitest';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = useService();
let key: string;

beforeAll(async () => {
  ({ key } = await service.client.register());
  await service.client.post('/sandbox/fund', { amount: 10 }, key);
});

test('a forecast is bought from the seller of the sandbox', async () => {
  const { body: sandbox } = await service.client.get('/sandbox');
  const reply = await service.client.post('/nano/pay', { url: `${sandbox.demoSeller.url}?city=Porto`, maxAmount: 0.05 }, key);
  console.log(reply.status, JSON.stringify(reply.body));
  expect(reply.status).toBe(200);
  const paid = await until('it to be paid', async () => {
    const { body } = await service.client.get(`/nano/purchases/${reply.body.payment.id}`, key);
    return body.status === 'pending' ? undefined : body;
  });
  console.log(JSON.stringify(paid));
  console.log(JSON.stringify((await service.client.get('/reserves')).body.reserves[0]), JSON.stringify((await service.client.get('/circle/balance', key)).body));
});
