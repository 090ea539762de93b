import { beforeAll, expect, test } from 'vitest';
import type { Client, TestAccount } from '../../support/client.ts';
import { createKey, type TestKey } from '../../support/key-tree.ts';
import { useService } from '../../support/service.ts';

const service = useService();

let client: Client;
let owner: TestAccount;
let friend: TestAccount;

beforeAll(async () => {
  client = service.client;
  owner = await client.register();
  friend = await client.register();
  expect((await client.post('/sandbox/fund', { amount: 100 }, owner.key)).status).toBe(200);
});

async function limit({ id }: TestKey): Promise<void> {
  const body = { budgets: [{ id: 'day', amount: 50, currency: 'USDC', window: 'day' }] };
  const reply = await client.request('PUT', `/account/keys/${id}/policy`, { key: owner.key, body });
  expect(reply, JSON.stringify(reply.body)).toMatchObject({ status: 200 });
}

async function rotate({ id }: TestKey, overlapSeconds: number): Promise<TestKey> {
  const reply = await client.post(`/account/keys/${id}/rotate`, { overlapSeconds }, owner.key);
  expect(reply, JSON.stringify(reply.body)).toMatchObject({ status: 201 });
  return reply.body;
}

interface Named {
  readonly key: string;
  readonly keys: readonly string[];
  readonly policies: readonly { readonly key: string }[];
  readonly budgets: readonly { readonly key: string }[];
}

/** Pays, and returns the keys that its record names. */
async function pay({ apiKey }: TestKey) {
  const body = { to: friend.handle, amount: 1, currency: 'USDC' };
  expect(await client.post('/agent/transfer', body, apiKey)).toMatchObject({ status: 200 });
  const [newest]: Named[] = (await client.get('/account/decisions?limit=1', owner.key)).body.decisions;
  return {
    key: newest?.key,
    keys: newest?.keys.slice(0, 2),
    asked: newest?.policies.map(({ key }) => key),
    taken: newest?.budgets.map(({ key }) => key).toSorted(),
  };
}

function named(own: TestKey, above: TestKey) {
  const both = [own.id, above.id];
  return { key: own.id, keys: both, asked: both, taken: both.toSorted() };
}

test('a record names the keys that had to agree when the payment was made', async () => {
  const parent = await createKey(client, owner.key);
  const agent = await createKey(client, owner.key, parent);
  await limit(parent);
  await limit(agent);
  expect(await pay(agent)).toEqual(named(agent, parent));
  // The old key above has ended: GET /account/budgets and the errors of payments name the new one.
  const later = await rotate(parent, 0);
  expect(await pay(agent)).toEqual(named(agent, later));
  // While an old key and its replacement both work, each pays under its own name.
  const next = await rotate(agent, 60);
  expect(await pay(agent)).toEqual(named(agent, later));
  expect(await pay(next)).toEqual(named(next, later));
});
