import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { features } from '../../../src/app/features.ts';
import { newId } from '../../../src/kernel/ids/ids.ts';
import type { Reply } from '../../support/client.ts';
import { useService } from '../../support/service.ts';
import { simplePolicies, till } from '../../support/till.ts';

const service = useService({
  features: [...features.map((feature) => (feature.name === 'policies' ? simplePolicies : feature)), till],
});
const db = () => service.database.db;

interface Key {
  readonly id: string;
  readonly apiKey: string;
}

const outcome = ({ status, body }: Reply) => [status, body.code];
const pay = (key: Key, request: object, operation = 'transfer') =>
  service.client.post(`/till/${operation}`, { atomic: '1000000', ...request }, key.apiKey);
const simulate = async (key: Key, request: object, operation = 'transfer') =>
  (
    await service.client.post(
      '/account/policy/simulate',
      { operation, request: { atomic: '1000000', ...request } },
      key.apiKey,
    )
  ).body;
const budgetsOf = async (key: Key) => (await service.client.get('/account/budgets', key.apiKey)).body.budgets;

async function idOf(handle: string): Promise<string> {
  const { rows } = await db().query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle]);
  return String(rows[0]?.id);
}

async function setPolicy(by: Key, key: Key, body: object) {
  const reply = await service.client.request('PUT', `/account/keys/${key.id}/policy`, { key: by.apiKey, body });
  expect(reply.status, JSON.stringify(reply.body)).toBe(200);
}

async function makeBelow(parent: Key): Promise<Key> {
  return (await service.client.post('/account/keys', { name: 'Agent' }, parent.apiKey)).body;
}

/** An account with 100 USDC, and three keys below one another. */
async function family(currency = 'USDC') {
  const ada = await service.client.register();
  const { keys } = (await service.client.get('/account/keys', ada.key)).body;
  const root: Key = { id: keys[0].id, apiKey: ada.key };
  await service.client.post('/sandbox/fund', { amount: 100, currency }, ada.key);
  const child = await makeBelow(root);
  return { ...ada, accountId: await idOf(ada.handle), root, child, grandchild: await makeBelow(child) };
}

async function person() {
  const account = await service.client.register();
  return { ...account, id: await idOf(account.handle) };
}

const daily = { id: 'daily', amount: 3, currency: 'USDC', window: 'day' };

describe('a payment', () => {
  test('needs every key up to the root, and all budgets count it', async () => {
    const { root, child, grandchild } = await family();
    await setPolicy(root, child, { budgets: [daily] });
    await setPolicy(root, grandchild, { budgets: [{ ...daily, amount: 10 }] });
    expect((await pay(grandchild, {})).status).toBe(200);
    expect((await pay(child, {})).status).toBe(200);
    expect(await budgetsOf(grandchild)).toMatchObject([
      { key: grandchild.id, spent: '1', remaining: '9' },
      { key: child.id, spent: '2', remaining: '1' },
    ]);
    const refused = await pay(grandchild, { atomic: '1000001' });
    expect(outcome(refused)).toEqual([403, 'budget_exceeded']);
    expect(refused.body).toMatchObject({ budget: { key: child.id, id: 'daily' }, remaining: '1' });
    expect((await pay(root, { atomic: '5000000' })).status).toBe(200);
    expect((await pay(grandchild, {})).status).toBe(200);
  });

  test('is refused by one rule above, whatever the key itself allows', async () => {
    const { root, child, grandchild } = await family();
    await setPolicy(root, child, { rules: [{ effect: 'allow' }, { effect: 'deny', operation: ['call'] }] });
    await setPolicy(root, grandchild, { rules: [{ effect: 'allow', operation: ['call', 'transfer'] }] });
    expect((await pay(grandchild, {})).status).toBe(200);
    const refused = await pay(grandchild, {}, 'call');
    expect(outcome(refused)).toEqual([403, 'rule_denied']);
    expect(refused.body.rule).toEqual({ key: child.id, index: 1 });
    const unmatched = await pay(grandchild, {}, 'order');
    expect([...outcome(unmatched), unmatched.body.rule]).toEqual([403, 'rule_denied', null]);
    expect((await pay(child, {}, 'order')).status).toBe(200);
  });

  test('that a rule asks about is asked about, unless a budget denies it', async () => {
    const { root, child } = await family();
    await setPolicy(root, child, {
      rules: [{ effect: 'allow' }, { effect: 'ask', amount: { gt: 0.5 } }],
      budgets: [daily, { ...daily, id: 'soft', amount: 1, onExceed: 'ask' }],
    });
    expect((await pay(child, { atomic: '500000' })).status).toBe(200);
    const asked = await pay(child, { atomic: '500001' });
    expect([...outcome(asked), asked.body.rule]).toEqual([403, 'approval_required', { key: child.id, index: 1 }]);
    expect(outcome(await pay(child, { atomic: '2500000' }))).toEqual([403, 'approval_required']);
    expect(outcome(await pay(child, { atomic: '2500001' }))).toEqual([403, 'budget_exceeded']);
    await pay(child, { atomic: '500000' });
    expect(outcome(await pay(child, { atomic: '1' }))).toEqual([403, 'approval_required']);
  });

  test('of a frozen account is refused as such, before its rules', async () => {
    const { root, child, accountId } = await family();
    await setPolicy(root, child, { rules: [] });
    expect(outcome(await pay(child, {}))).toEqual([403, 'rule_denied']);
    await db().query('UPDATE accounts SET frozen_at = now() WHERE id = $1', [accountId]);
    expect(outcome(await pay(child, {}))).toEqual([403, 'account_frozen']);
    expect(await simulate(child, {})).toMatchObject({ outcome: 'deny', code: 'account_frozen', rule: null });
  });

  test('of a frozen key is refused, also below it', async () => {
    const { root, child, grandchild } = await family();
    await service.client.post(`/account/keys/${child.id}/freeze`, undefined, root.apiKey);
    expect(outcome(await pay(grandchild, {}))).toEqual([403, 'key_frozen']);
    expect(await simulate(grandchild, {})).toMatchObject({ outcome: 'deny', code: 'key_frozen' });
    expect((await pay(root, {})).status).toBe(200);
    await service.client.post(`/account/keys/${child.id}/unfreeze`, undefined, root.apiKey);
    expect((await pay(grandchild, {})).status).toBe(200);
  });

  test('sees a change of the policy at once', async () => {
    const { root, child } = await family();
    for (const rules of [[], [{ effect: 'allow' }], [{ effect: 'deny' }], undefined]) {
      await setPolicy(root, child, { rules });
      const allowed = rules === undefined || rules.some(({ effect }) => effect === 'allow');
      expect((await pay(child, {})).status).toBe(allowed ? 200 : 403);
    }
  });
});

describe('other assets', () => {
  test('count in the currency of the budget, against the agent', async () => {
    const { root, child } = await family('EURC');
    await setPolicy(root, child, {
      budgets: [daily, { ...daily, id: 'euro', currency: 'EURC', operations: ['transfer'] }],
    });
    expect((await pay(child, { asset: 'EURC', atomic: '1000001' })).status).toBe(200);
    expect(await budgetsOf(child)).toMatchObject([
      { id: 'daily', spent: '1.080002' },
      { id: 'euro', spent: '1.000001' },
    ]);
    await simulate(child, { asset: 'ETH', atomic: '1000000000000' }, 'swap').then(({ budgets, outcome: is }) => {
      expect(is).toBe('allow');
      expect(Number(budgets[0].spent)).toBeCloseTo(1.080002 + 0.003, 4);
      expect(budgets[1].spent).toBe('1.000001');
    });
  });
});

describe('rules about counterparties', () => {
  const only = (rule: object) => ({ rules: [{ effect: 'allow', ...rule }] });

  test('resolve handles and emails to accounts', async () => {
    const { root, child } = await family();
    const [bob, eve] = [await person(), await person()];
    await setPolicy(root, child, only({ counterparty: [bob.handle.toLowerCase(), eve.email.toUpperCase()] }));
    expect((await pay(child, { account: bob.id })).status).toBe(200);
    expect((await pay(child, { account: eve.id })).status).toBe(200);
    expect(outcome(await pay(child, { account: (await person()).id }))).toEqual([403, 'rule_denied']);
    expect(outcome(await pay(child, {}, 'swap'))).toEqual([403, 'rule_denied']);
    await db().query('UPDATE accounts SET email_verified_at = NULL WHERE id = $1', [eve.id]);
    expect(outcome(await pay(child, { account: eve.id }))).toEqual([403, 'rule_denied']);
  });

  test('compare addresses, shops and hosts in any case', async () => {
    const { root, child } = await family();
    const address = `0x${'aB'.repeat(20)}`;
    await setPolicy(root, child, only({ counterparty: [address.toLowerCase(), 'WWW.Shop.example', 'api.example'] }));
    expect((await pay(child, { address })).status).toBe(200);
    expect((await pay(child, { shop: 'shop.example' })).status).toBe(200);
    expect((await pay(child, { host: 'api.example' })).status).toBe(200);
    expect(outcome(await pay(child, { host: 'shop.example' }))).toEqual([403, 'rule_denied']);
  });

  test('know whom the account has paid before, with any key', async () => {
    const { root, child } = await family();
    const [bob, eve] = [await person(), await person()];
    await setPolicy(root, child, only({ counterpartyIs: 'known' }));
    expect(outcome(await pay(child, { account: bob.id }))).toEqual([403, 'rule_denied']);
    await pay(root, { account: bob.id });
    expect((await pay(child, { account: bob.id })).status).toBe(200);
    expect(outcome(await pay(child, { account: eve.id }))).toEqual([403, 'rule_denied']);
    await setPolicy(root, child, only({ counterpartyIs: 'new' }));
    expect((await pay(child, { account: eve.id })).status).toBe(200);
    expect(outcome(await pay(child, { account: eve.id }))).toEqual([403, 'rule_denied']);
    expect(outcome(await pay(child, {}, 'swap'))).toEqual([403, 'rule_denied']);
  });

  test('know an address by a withdrawal that arrived', async () => {
    const { root, child, accountId } = await family();
    const address = `0x${'Cd'.repeat(20)}`;
    await setPolicy(root, child, only({ counterpartyIs: 'known' }));
    expect(outcome(await pay(child, { address }, 'withdraw'))).toEqual([403, 'rule_denied']);
    await db().query('ALTER TABLE withdrawals DISABLE TRIGGER USER');
    const insert = (status: string, to: string) =>
      db().query(
        `INSERT INTO withdrawals (id, account_id, chain, asset, address, gross, fee, net, value, status)
         VALUES ($1, $2, 'MATIC', 'USDC', $3, 2, 1, 1, 1, $4)`,
        [newId('wdr'), accountId, to, status],
      );
    await insert('failed', `0x${'e'.repeat(40)}`);
    await insert('complete', address);
    await db().query('ALTER TABLE withdrawals ENABLE TRIGGER USER');
    expect((await pay(child, { address: address.toLowerCase() }, 'withdraw')).status).toBe(200);
    expect(outcome(await pay(child, { address: `0x${'e'.repeat(40)}` }, 'withdraw'))).toEqual([403, 'rule_denied']);
    expect(outcome(await pay(child, { host: 'api.example' }, 'call'))).toEqual([403, 'rule_denied']);
    expect(outcome(await pay(child, { shop: 'shop.example' }, 'order'))).toEqual([403, 'rule_denied']);
  });

  test('know what is verified: contacts, domains and the allow-list', async () => {
    const { root, child, accountId } = await family();
    const bob = await person();
    const address = `0x${'f1'.repeat(20)}`;
    await setPolicy(root, child, only({ counterpartyIs: 'verified' }));
    expect((await pay(child, { account: bob.id })).status).toBe(200);
    await db().query('UPDATE accounts SET email_verified_at = NULL WHERE id = $1', [bob.id]);
    expect(outcome(await pay(child, { account: bob.id }))).toEqual([403, 'rule_denied']);

    const shop = `${child.id.slice(-8)}.example`;
    expect(outcome(await pay(child, { shop }, 'order'))).toEqual([403, 'rule_denied']);
    await db().query(
      `INSERT INTO merchants (domain, account_id, state, enabled_by, proved_at) VALUES ($1, $2, 'enabled', 'domain_proof', now())`,
      [shop, bob.id],
    );
    expect((await pay(child, { shop }, 'order')).status).toBe(200);

    const list = (from: string) =>
      db().query(
        `INSERT INTO withdrawal_addresses (account_id, address, added_at, usable_from) VALUES ($1, $2, now() - interval '1 day', now() + $3::interval)
         ON CONFLICT (account_id, address) DO UPDATE SET usable_from = excluded.usable_from`,
        [accountId, address, from],
      );
    await list('1 hour');
    expect(outcome(await pay(child, { address }, 'withdraw'))).toEqual([403, 'rule_denied']);
    await list('-1 hour');
    expect((await pay(child, { address }, 'withdraw')).status).toBe(200);
  });
});

describe('the simulation', () => {
  test('shows the budgets afterwards and moves nothing', async () => {
    const { root, child } = await family();
    await setPolicy(root, child, { rules: [{ effect: 'allow', amount: { lte: 5 } }], budgets: [daily] });
    expect(await simulate(child, {})).toEqual({
      outcome: 'allow',
      code: null,
      rule: { key: child.id, index: 0 },
      unmet: null,
      budgets: [expect.objectContaining({ spent: '1', remaining: '2' })],
    });
    expect(await budgetsOf(child)).toMatchObject([{ spent: '0' }]);
    expect(await simulate(child, { atomic: '3000001' })).toMatchObject({
      outcome: 'deny',
      code: 'budget_exceeded',
      rule: null,
      unmet: null,
      budgets: [{ spent: '0', remaining: '3' }],
    });
  });

  test('names the condition that the nearest rule lacks', async () => {
    const { root, child } = await family();
    await setPolicy(root, child, {
      rules: [
        { effect: 'allow', operation: ['call'], asset: ['EURC'] },
        { effect: 'allow', operation: ['transfer'], amount: { lte: 0.5 } },
        { effect: 'deny', operation: ['swap'] },
      ],
    });
    expect(await simulate(child, {})).toMatchObject({
      outcome: 'deny',
      code: 'rule_denied',
      rule: null,
      unmet: { rule: { key: child.id, index: 1 }, condition: 'amount' },
    });
    expect(await simulate(child, {}, 'swap')).toMatchObject({ rule: { key: child.id, index: 2 }, unmet: null });
  });

  test('refuses a request as its endpoint does', async () => {
    const { child } = await family();
    const reply = await service.client.post(
      '/account/policy/simulate',
      { operation: 'transfer', request: {} },
      child.apiKey,
    );
    expect(outcome(reply)).toEqual([400, 'invalid_request']);
    expect(reply.body.errors[0].path).toBe('request.atomic');
  });

  test('agrees with what then happens, for random policies', async () => {
    const { root, child, grandchild } = await family();
    const bob = await person();
    await pay(root, { account: bob.id });
    const rule = fc.record(
      {
        effect: fc.constantFrom('allow', 'allow', 'deny', 'ask'),
        operation: fc.subarray(['transfer', 'order', 'call'], { minLength: 1 }),
        amount: fc.constantFrom({ lte: 0.5 }, { gt: 0.2 }, { lte: 2, gt: 0.1 }),
        counterpartyIs: fc.constantFrom('known', 'new', 'verified'),
        counterparty: fc.constantFrom([bob.handle], [bob.email], ['shop.example']),
      },
      { requiredKeys: ['effect'] },
    );
    const policy = fc.record(
      {
        rules: fc.array(rule, { maxLength: 4 }),
        budgets: fc.array(fc.constantFrom('a', 'b'), { maxLength: 2 }).chain((ids) =>
          fc.tuple(
            ...[...new Set(ids)].map((id) =>
              fc.record({
                id: fc.constant(id),
                amount: fc.constantFrom(0, 1, 3),
                currency: fc.constant('USDC'),
                window: fc.constant('once'),
                onExceed: fc.constantFrom('deny', 'ask'),
              }),
            ),
          ),
        ),
      },
      { requiredKeys: [] },
    );
    const request = fc.tuple(
      fc.constantFrom('transfer', 'order', 'call'),
      fc.record({
        atomic: fc.constantFrom('100000', '200001', '500000'),
        ...{ account: fc.constantFrom(bob.id) },
      }),
    );
    const codes = new Set<string>();
    await fc.assert(
      fc.asyncProperty(policy, policy, request, async (upper, lower, [operation, wanted]) => {
        await setPolicy(root, child, upper);
        await setPolicy(root, grandchild, lower);
        const simulated = await simulate(grandchild, wanted, operation);
        const real = await pay(grandchild, wanted, operation);
        codes.add(real.body.code ?? 'allowed');
        expect(simulated.code).toBe(real.body.code ?? null);
        expect(simulated.outcome).toBe(
          real.status === 200 ? 'allow' : real.body.code === 'approval_required' ? 'ask' : 'deny',
        );
        if (real.body.code === 'rule_denied') expect(simulated.rule).toEqual(real.body.rule);
        expect(simulated.budgets).toEqual(await budgetsOf(grandchild));
      }),
      { numRuns: 60 },
    );
    expect(codes.size).toBeGreaterThan(2);
  });
});
