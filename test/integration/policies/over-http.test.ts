import fc from 'fast-check';
import { privateKeyToAddress } from 'viem/accounts';
import { beforeAll, expect, test } from 'vitest';
import { features } from '../../../src/app/features.ts';
import { policies } from '../../../src/policies/feature.ts';
import { hostOf } from '../../../src/x402/buy/payment-to-seller.ts';
import type { Client, Reply, TestAccount } from '../../support/client.ts';
import { mug } from '../../support/mug.ts';
import { useService } from '../../support/service.ts';

/** Nobody has set a rate of the euro. */
const withoutRate = {
  ...policies,
  settings: { ...policies.settings, read: () => ({ euro: { usdcPerEurc: () => undefined } }) },
} as typeof policies;
const service = useService({
  features: features.map((feature) => (feature.name === 'policies' ? (withoutRate as typeof feature) : feature)),
  settings: { orders: { waitSeconds: 25 } },
});

/** 1,000 by command: `POLICY_RUNS=1000 npm test -- test/integration/policies/over-http.test.ts`. */
const runs = Number(process.env['POLICY_RUNS'] ?? 40);

interface Key {
  readonly id: string;
  readonly apiKey: string;
}

let owner: TestAccount;
let friend: TestAccount;
let child: Key;
let grandchild: Key;
let client: Client;

beforeAll(async () => {
  client = service.client;
  owner = await client.register();
  friend = await client.register();
  expect((await client.post('/sandbox/fund', { amount: 1_000 }, owner.key)).status).toBe(200);
  expect((await client.post('/sandbox/fund', { amount: 100, currency: 'EURC' }, owner.key)).status).toBe(200);
  child = (await client.post('/account/keys', { name: 'child' }, owner.key)).body;
  grandchild = (await client.post('/account/keys', { name: 'grandchild' }, child.apiKey)).body;
});

async function setPolicy({ id }: Key, body: object) {
  const reply = await client.request('PUT', `/account/keys/${id}/policy`, { key: owner.key, body });
  expect(reply, JSON.stringify(reply.body)).toMatchObject({ status: 200 });
}

const outside = privateKeyToAddress(`0x${'7'.repeat(64)}`);
const seller = { url: 'http://demo-seller.example/forecast', maxAmount: 1 };
const own = () => ({ url: `${service.url}/api/nano/quote?amount=50&currency=USDC&action=transfer`, maxAmount: 1 });

const transfer = (amount: number, currency = 'USDC') =>
  ({ operation: 'transfer', path: '/agent/transfer', request: { to: friend.handle, amount, currency } }) as const;
/** Each as its endpoint takes it. */
const others = () => [
  { operation: 'withdraw', path: '/circle/withdraw', request: { amount: 20, address: outside } },
  { operation: 'swap', path: '/swap/execute', request: { from: 'USDC', to: 'ETH', amount: '5' } },
  { operation: 'bridge', path: '/cross-chain/transfer', request: { from: 'MATIC', to: 'BASE', amount: '5' } },
  { operation: 'order', path: '/shopping/buy', request: mug },
  { operation: 'call', path: '/nano/pay', request: own() },
  { operation: 'call', path: '/nano/pay', request: seller },
];

interface Asked {
  readonly operation: string;
  readonly path: string;
  readonly request: object;
}

const simulate = async ({ operation, request }: Asked, key = grandchild) =>
  (await client.post('/account/policy/simulate', { operation, request }, key.apiKey)).body;
const pay = ({ path, request }: Asked, key = grandchild) => client.post(path, request, key.apiKey);

/** What a simulation says before, and what then happens. */
async function compare(asked: Asked): Promise<string> {
  const said = await simulate(asked);
  const real: Reply = await pay(asked);
  const isAsked = real.status === 202 && real.body.status === 'approval_required';
  const isPaid = real.status < 300 && !isAsked;
  const code: string | null = isPaid ? null : (real.body.code ?? real.body.status);
  // Only so many may wait for the owner.
  if (isAsked) await client.post(`/approvals/${real.body.approvalId}/cancel`, undefined, owner.key);
  expect(said, JSON.stringify([asked, real.body])).toMatchObject({
    code,
    outcome: isPaid ? 'allow' : code === 'approval_required' ? 'ask' : 'deny',
  });
  if (code === 'rule_denied') expect(said.rule).toEqual(real.body.rule);
  return code ?? 'allowed';
}

const rule = fc.record(
  {
    effect: fc.constantFrom('allow', 'allow', 'allow', 'deny', 'ask'),
    operation: fc.subarray(['transfer', 'withdraw', 'order', 'call'], { minLength: 1 }),
    asset: fc.subarray(['USDC', 'EURC'], { minLength: 1 }),
    amount: fc.constantFrom({ lte: 0.05 }, { gt: 0.02 }, { lte: 0.1, gt: 0.01 }),
    counterpartyIs: fc.constantFrom('known', 'new', 'verified'),
    chain: fc.constantFrom(['MATIC'], ['BASE']),
    hours: fc.constantFrom({ from: '00:00', to: '24:00', timeZone: 'UTC' }),
  },
  { requiredKeys: ['effect'] },
);
const budget = fc.record({
  amount: fc.constantFrom(0, 0.5, 500),
  currency: fc.constantFrom('USDC', 'USDC', 'EURC'),
  onExceed: fc.constantFrom('deny', 'ask'),
});
const policy = fc.record(
  {
    rules: fc.array(rule, { maxLength: 4 }),
    // An id never gets another currency.
    budgets: fc
      .array(budget, { maxLength: 2 })
      .map((all) => all.map((one, at) => ({ ...one, id: `${one.currency}-${at}`, window: 'once' }))),
  },
  { requiredKeys: [] },
);

type Policies = Parameters<Parameters<typeof policy.map>[0]>[0];

const nothingLeft = (onExceed: 'deny' | 'ask') => ({
  budgets: [{ id: 'USDC-0', amount: 0 as const, currency: 'USDC' as const, window: 'once', onExceed }],
});

/** Every outcome, whatever is generated. */
const oneOfEach: [Policies, Policies, [number, 'USDC' | 'EURC']][] = [
  [{}, {}, [0.01, 'USDC']],
  [{ rules: [] }, {}, [0.01, 'USDC']],
  [{ rules: [{ effect: 'ask' }] }, {}, [0.01, 'USDC']],
  [{}, nothingLeft('deny'), [0.01, 'USDC']],
  [{}, nothingLeft('ask'), [0.01, 'USDC']],
];

test('a simulation says what then happens, for random policies and transfers', async () => {
  const codes = new Set<string>();
  const payment = fc.tuple(fc.constantFrom(0.01, 0.03, 0.07), fc.constantFrom('USDC', 'USDC', 'EURC'));
  await fc.assert(
    fc.asyncProperty(policy, policy, payment, async (upper, lower, [amount, currency]) => {
      await setPolicy(child, upper);
      await setPolicy(grandchild, lower);
      codes.add(await compare(transfer(amount, currency)));
    }),
    { numRuns: runs, examples: oneOfEach },
  );
  expect([...codes]).toEqual(
    expect.arrayContaining(['allowed', 'rule_denied', 'approval_required', 'budget_exceeded']),
  );
}, 900_000);

test('and for every other operation, allowed, asked about and denied', async () => {
  await setPolicy(child, {});
  for (const asked of others()) {
    for (const effect of ['deny', 'ask', 'allow']) {
      await setPolicy(grandchild, { rules: [{ effect, operation: [asked.operation] }] });
      const expected = { deny: 'rule_denied', ask: 'approval_required', allow: 'allowed' }[effect];
      expect(await compare(asked), `${asked.path} ${effect}`).toBe(expected);
    }
  }
});

/** The same order to the same address would be a possible duplicate, and the same seller is known in any spelling. */
function elsewhere({ operation, request }: Asked): object {
  if (operation === 'order') return { shippingAddress: 'Ada, 2 Main St, 94105 San Francisco, US' };
  return request === seller ? { url: 'http://DEMO-SELLER.example:80/forecast' } : {};
}

test('what was paid is known: a shop, a seller and the service itself', async () => {
  const stranger = await client.register();
  expect((await client.post('/sandbox/fund', { amount: 100 }, stranger.key)).status).toBe(200);
  const agent: Key = (await client.post('/account/keys', { name: 'agent' }, stranger.key)).body;
  const rules = [{ effect: 'allow', counterpartyIs: 'known' }];
  const path = `/account/keys/${agent.id}/policy`;
  expect(await client.request('PUT', path, { key: stranger.key, body: { rules } })).toMatchObject({ status: 200 });
  const [, , , order, ownCall, purchase] = others() as [Asked, Asked, Asked, Asked, Asked, Asked];
  for (const asked of [order, ownCall, purchase]) {
    const name = `${asked.operation} ${JSON.stringify(asked.request)}`;
    expect(await simulate(asked, agent), name).toMatchObject({ outcome: 'deny', code: 'rule_denied' });
    expect((await client.post(asked.path, { ...asked.request, ...elsewhere(asked) }, stranger.key)).status, name).toBe(
      200,
    );
    await expect
      .poll(() => simulate(asked, agent), { timeout: 5_000, message: name })
      .toMatchObject({ outcome: 'allow' });
    expect((await pay(asked, agent)).status, name).toBe(200);
  }
}, 90_000);

test('the database names the host of a URL as we do', async () => {
  const urls = ['http', 'HTTPS'].flatMap((scheme) =>
    ['', ':80', ':443', ':8443'].flatMap((port) =>
      ['seller.example', 'Seller.Example.', '127.0.0.1', '[::1]'].flatMap((host) =>
        ['', '/forecast?at=http://other.example:80', '?day=1', '#here'].map(
          (rest) => `${scheme}://${host}${port}${rest}`,
        ),
      ),
    ),
  );
  const { rows } = await service.database.db.query<{ host: string }>(
    'SELECT host_of_url(url) AS host FROM unnest($1::text[]) WITH ORDINALITY u (url, n) ORDER BY n',
    [urls],
  );
  expect(rows.map(({ host }, n) => [urls[n], host])).toEqual(urls.map((url) => [url, hostOf(url)]));
});

test('a currency without a rate is refused, and nothing moves', async () => {
  await setPolicy(child, { budgets: [{ id: 'dollars', amount: 500, currency: 'USDC', window: 'day' }] });
  await setPolicy(grandchild, {});
  const before = (await client.get('/circle/balance', owner.key)).body.EURC;
  expect(await pay(transfer(1, 'EURC'))).toMatchObject({ status: 403, body: { code: 'rate_unavailable' } });
  expect(await simulate(transfer(1, 'EURC'))).toMatchObject({ outcome: 'deny', code: 'rate_unavailable' });
  expect((await client.get('/circle/balance', owner.key)).body.EURC).toBe(before);
  expect((await pay(transfer(1))).status).toBe(200);
});
