import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { forgetApprovals } from '../../../src/policies/approvals/expire.ts';
import type { Client, Reply, TestAccount } from '../../support/client.ts';
import { createKey, type TestKey } from '../../support/key-tree.ts';
import { mug } from '../../support/mug.ts';
import { type OwnerBrowser, openOwnerBrowser } from '../../support/owner.ts';
import { useService } from '../../support/service.ts';

const service = useService({ settings: { orders: { waitSeconds: 25 } } });

let client: Client;
let owner: TestAccount;
let grace: TestAccount;
let agent: TestKey;
let browser: OwnerBrowser;

beforeAll(() => {
  client = service.client;
});

beforeEach(async () => {
  owner = await client.register();
  grace = await client.register({ name: 'Grace Hopper' });
  await fund(100);
  agent = await createKey(client, owner.key);
  await setPolicy(agent, { rules: [{ effect: 'ask', amount: { gt: 5 } }, { effect: 'allow' }] });
  browser = openOwnerBrowser(service.url);
  await browser.signIn(owner);
});

async function fund(amount: number, currency = 'USDC') {
  expect((await client.post('/sandbox/fund', { amount, currency }, owner.key)).status).toBe(200);
}

async function setPolicy({ id }: TestKey, body: object) {
  const reply = await client.request('PUT', `/account/keys/${id}/policy`, { key: owner.key, body });
  expect(reply, JSON.stringify(reply.body)).toMatchObject({ status: 200 });
}

const pay = (fields: object = {}, headers: Record<string, string> = {}, key = agent.apiKey) =>
  client.request('POST', '/agent/transfer', {
    key,
    headers,
    body: { to: grace.handle, amount: 8, currency: 'USDC', ...fields },
  });

async function ask(fields: object = {}, headers: Record<string, string> = {}): Promise<string> {
  const reply = await pay(fields, headers);
  expect(reply, JSON.stringify(reply.body)).toMatchObject({ status: 202, body: { status: 'approval_required' } });
  return reply.body.approvalId;
}

/** Opens the page and clicks on "Approve". */
async function clickApprove(id: string, by = browser) {
  await by.get(`/approve/${id}`);
  return by.submit(`/approve/${id}`);
}

const look = (id: string, key = agent.apiKey): Promise<Reply> => client.get(`/approvals/${id}`, key);
const balance = async (of = owner) => Number((await client.get('/circle/balance', of.key)).body.USDC);

/** Everything that may change meanwhile, in the database. */
const sql = (text: string, values: readonly unknown[] = []) => service.database.db.query(text, values);

describe('a payment that a rule asks about', () => {
  test('becomes an approval, and approving pays it', async () => {
    const asked = await pay({ note: 'For the invoice of last week.', description: 'Tea' });
    expect(asked.status).toBe(202);
    const { approvalId: id, url, summary, expiresAt } = asked.body;
    expect(asked.body).toEqual({
      status: 'approval_required',
      approvalId: expect.stringMatching(/^apr_/),
      url: `${service.url}/approve/${id}`,
      expiresAt: expect.any(String),
      summary: `Transfer 8 USDC to Grace Hopper (${grace.handle})`,
    });
    expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(9 * 60_000);
    expect(url).toContain('/approve/');
    expect(await balance()).toBe(100);
    expect((await look(id)).body).toMatchObject({
      status: 'pending',
      terminal: false,
      operation: 'transfer',
      amount: '8',
      currency: 'USDC',
      summary,
      note: 'For the invoice of last week.',
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      result: null,
    });
    const page = await browser.get(`/approve/${id}`);
    expect(page.text).toContain('Grace Hopper');
    expect(page.text.indexOf('8 USDC')).toBeLessThan(page.text.indexOf('For the invoice of last week.'));
    const done = await browser.submit(`/approve/${id}`);
    expect(done).toMatchObject({ status: 303, location: `/approve/${id}` });
    expect((await browser.get(`/approve/${id}`)).text).toContain('Approved');
    expect(await balance()).toBe(92);
    expect((await look(id)).body).toMatchObject({
      status: 'executed',
      terminal: true,
      result: { status: 200, body: { status: 'complete', amount: 8, recipientAmount: 7.88 } },
    });
  });

  test('answers the first Idempotency-Key with the payment, once it is executed', async () => {
    const id = await ask({}, { 'idempotency-key': 'one' });
    expect(await ask({}, { 'idempotency-key': 'two' })).toBe(id);
    expect(await ask()).toBe(id);
    await clickApprove(id);
    const again = await pay({}, { 'idempotency-key': 'one' });
    expect(again.status).toBe(200);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect((await look(id)).body.result.body).toEqual(again.body);
    expect(await balance()).toBe(92);
    expect(await ask({}, { 'idempotency-key': 'two' })).not.toBe(id);
  });

  test('is another approval for another amount, recipient or key', async () => {
    const other = await createKey(client, owner.key);
    await setPolicy(other, { rules: [{ effect: 'ask' }] });
    const ids = [await ask(), await ask({ amount: 9 }), await ask({ to: (await client.register()).handle })];
    ids.push((await pay({}, {}, other.apiKey)).body.approvalId);
    expect(new Set(ids).size).toBe(4);
  });

  test('can be denied, and is then over', async () => {
    const id = await ask();
    await browser.get(`/approve/${id}`);
    expect((await browser.submit(`/approve/${id}/deny`)).status).toBe(303);
    expect((await look(id)).body).toMatchObject({ status: 'denied', terminal: true, result: null });
    await browser.submit(`/approve/${id}`);
    expect(await balance()).toBe(100);
    expect(await ask()).not.toBe(id);
  });

  test('leads to the key that has the place of the one that asked, and to none once that is revoked', async () => {
    const id = await ask();
    await browser.get(`/approve/${id}`);
    expect((await browser.submit(`/approve/${id}/deny`)).status).toBe(303);
    const linkIn = (text: string) => /href="(\/app\/keys\/[^"]+)">See the policy of this key/.exec(text)?.[1];
    const link = async () => linkIn((await browser.get(`/approve/${id}`)).text);
    expect(await link()).toBe(`/app/keys/${agent.id}`);
    const rotate = async (key: string, overlapSeconds: number) => {
      const reply = await client.post(`/account/keys/${key}/rotate`, { overlapSeconds }, owner.key);
      expect(reply, JSON.stringify(reply.body)).toMatchObject({ status: 201 });
      return reply.body.id;
    };
    // The old key still works, and has given its place to the new one.
    const second = await rotate(agent.id, 3600);
    expect(await link()).toBe(`/app/keys/${second}`);
    const third = await rotate(second, 0);
    expect(await link()).toBe(`/app/keys/${third}`);
    expect((await browser.get(`/app/keys/${third}`)).status).toBe(200);
    const revoke = (key: string) => client.request('DELETE', `/account/keys/${key}`, { key: owner.key });
    expect((await revoke(third)).status).toBe(200);
    await revoke(agent.id);
    expect(await link()).toBeUndefined();
    expect((await browser.get(`/approve/${id}`)).text).toContain('Denied');
  });

  test('is told to webhooks, the audit log and the mailbox of the owner', async () => {
    const hook = await client.post(
      '/webhooks',
      { url: 'https://hooks.example/', events: ['approval.requested'] },
      owner.key,
    );
    expect(hook.status, JSON.stringify(hook.body)).toBe(201);
    const id = await ask();
    await expect
      .poll(async () => (await client.get('/webhooks/deliveries', owner.key)).body.deliveries)
      .toMatchObject([{ event: 'approval.requested' }]);
    const mails = await client.get('/sandbox/messages', owner.key);
    expect(JSON.stringify(mails.body)).toContain(`/approve/${id}`);
    await clickApprove(id);
    const { body } = await client.get('/account/audit', owner.key);
    expect(body.entries.find((one: { action: string }) => one.action === 'approval.executed').details).toMatchObject({
      approval: id,
      key: agent.id,
    });
  });
});

describe('who may see and decide', () => {
  test('the asking key and the keys above it see and cancel it, others do not', async () => {
    const id = await ask();
    const sister = await createKey(client, owner.key);
    const child = await createKey(client, agent.apiKey);
    for (const key of [sister.apiKey, child.apiKey, grace.key]) {
      expect((await look(id, key)).body.code).toBe('approval_not_found');
      expect((await client.post(`/approvals/${id}/cancel`, undefined, key)).body.code).toBe('approval_not_found');
      expect((await client.get('/approvals', key)).body.approvals).toEqual([]);
    }
    expect((await client.get('/approvals?status=pending', owner.key)).body.approvals).toMatchObject([{ id }]);
    expect((await client.post(`/approvals/${id}/cancel`, undefined, agent.apiKey)).body).toMatchObject({
      status: 'cancelled',
      terminal: true,
    });
    const second = await client.post(`/approvals/${id}/cancel`, undefined, owner.key);
    expect([second.status, second.body.code]).toEqual([409, 'approval_not_pending']);
    await clickApprove(id);
    expect(await balance()).toBe(100);
  });

  test('no key can approve, and no page of a stranger, a forged form or an ended session', async () => {
    const id = await ask();
    expect((await client.post(`/approvals/${id}/approve`, {}, owner.key)).status).toBe(404);
    const stranger = openOwnerBrowser(service.url);
    expect((await stranger.get(`/approve/${id}`)).location).toBe(`/sign-in?next=%2Fapprove%2F${id}`);
    await stranger.signIn(grace);
    await stranger.get('/app');
    expect((await stranger.get(`/approve/${id}`)).status).toBe(404);
    expect((await stranger.submit(`/approve/${id}`)).status).toBe(404);
    await browser.get(`/approve/${id}`);
    expect((await browser.submit(`/approve/${id}`, {}, { origin: 'https://evil.example' })).status).toBe(403);
    const framed = await browser.get(`/approve/${id}`);
    expect(framed.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    await sql('UPDATE owner_sessions SET ended_at = now()');
    expect((await browser.submit(`/approve/${id}`)).location).toMatch(/^\/sign-in/);
    expect(await balance()).toBe(100);
    expect((await look(id)).body.status).toBe('pending');
  });

  test('the owner needs a password that was entered within five minutes', async () => {
    const id = await ask();
    await browser.get(`/approve/${id}`);
    await sql("UPDATE owner_sessions SET proved_at = now() - interval '6 minutes'");
    expect((await browser.submit(`/approve/${id}`)).location).toContain('/app/confirm');
    expect(await balance()).toBe(100);
    expect((await browser.get(`/approve/${id}`)).text).toContain('Enter your password');
  });
});

describe('what changed between the view and the click', () => {
  async function unpaid(id: string, words: readonly string[]) {
    const page = await browser.submit(`/approve/${id}`);
    expect(page.status).toBe(409);
    for (const word of words) expect(page.text).toContain(word);
    expect(await balance()).toBe(100);
    return page;
  }

  test('the name of the recipient: it is shown, and the next click pays', async () => {
    const id = await ask();
    await browser.get(`/approve/${id}`);
    await client.patch('/account', { name: 'Mallory' }, grace.key);
    await unpaid(id, ['Recipient', 'Mallory']);
    await browser.submit(`/approve/${id}`);
    expect(await balance()).toBe(92);
  });

  test('the policy', async () => {
    const id = await ask();
    await browser.get(`/approve/${id}`);
    await setPolicy(agent, { rules: [{ effect: 'ask', amount: { gt: 6 } }, { effect: 'allow' }] });
    await unpaid(id, ['Policy']);
    await browser.submit(`/approve/${id}`);
    expect(await balance()).toBe(92);
  });

  test('a rule that denies now', async () => {
    const id = await ask();
    await browser.get(`/approve/${id}`);
    await setPolicy(agent, { rules: [] });
    await unpaid(id, ['Nothing was paid']);
    expect((await look(id)).body.status).toBe('pending');
  });

  test('the balance', async () => {
    const id = await ask();
    await browser.get(`/approve/${id}`);
    await client.post('/agent/transfer', { to: grace.handle, amount: 95, currency: 'USDC' }, owner.key);
    const page = await browser.submit(`/approve/${id}`);
    expect(page.status).toBe(409);
    expect(page.text).toContain('balance does not cover');
    expect(await balance()).toBe(5);
    await fund(50);
    await clickApprove(id);
    expect(await balance()).toBe(47);
  });

  test('a second click, and a second browser', async () => {
    const id = await ask();
    const other = openOwnerBrowser(service.url);
    await other.signIn(owner);
    await Promise.all([browser.get(`/approve/${id}`), other.get(`/approve/${id}`)]);
    await Promise.all([0, 1, 2].flatMap(() => [browser.submit(`/approve/${id}`), other.submit(`/approve/${id}`)]));
    expect(await balance()).toBe(92);
  });

  test('its time is over', async () => {
    const id = await ask();
    await browser.get(`/approve/${id}`);
    await sql("UPDATE approvals SET expires_at = now() - interval '1 second' WHERE id = $1", [id]);
    await browser.submit(`/approve/${id}`);
    expect(await balance()).toBe(100);
    expect((await look(id)).body).toMatchObject({ status: 'expired', terminal: true });
    expect((await client.post(`/approvals/${id}/cancel`, undefined, agent.apiKey)).status).toBe(409);
    expect(await ask()).not.toBe(id);
    const { rows } = await sql('SELECT status FROM approvals WHERE id = $1', [id]);
    expect(rows).toEqual([{ status: 'expired' }]);
  });

  test('the key was revoked, or frozen', async () => {
    const frozen = await ask();
    await client.post(`/account/keys/${agent.id}/freeze`, undefined, owner.key);
    await browser.get(`/approve/${frozen}`);
    await unpaid(frozen, ['frozen']);
    await client.post(`/account/keys/${agent.id}/unfreeze`, undefined, owner.key);
    await client.request('DELETE', `/account/keys/${agent.id}`, { key: owner.key });
    await clickApprove(frozen);
    expect(await balance()).toBe(100);
    expect((await look(frozen, owner.key)).body).toMatchObject({ status: 'failed', reason: { code: 'unauthorized' } });
  });

  test('the same Idempotency-Key has paid something else', async () => {
    const id = await ask({}, { 'idempotency-key': 'k' });
    expect((await pay({ amount: 1 }, { 'idempotency-key': 'k' })).status).toBe(200);
    await clickApprove(id);
    expect(await balance()).toBe(99);
    expect((await look(id)).body).toMatchObject({ status: 'failed', reason: { code: 'idempotency_mismatch' } });
  });
});

describe('budgets that ask', () => {
  const daily = { id: 'daily', amount: 10, currency: 'USDC', window: 'day', onExceed: 'ask' };

  test('get exactly what is missing', async () => {
    await setPolicy(agent, { budgets: [daily] });
    expect((await pay({ amount: 6 })).status).toBe(200);
    const id = await ask({ amount: 7 });
    expect((await look(id)).body.budgets).toMatchObject([{ id: 'daily', before: '6', after: '10', beyond: '3 USDC' }]);
    expect((await browser.get(`/approve/${id}`)).text).toContain('3 USDC beyond it');
    await browser.submit(`/approve/${id}`);
    expect(await balance()).toBe(87);
    const { body } = await client.get('/account/budgets', agent.apiKey);
    expect(body.budgets).toMatchObject([{ spent: '10', remaining: '0' }]);
    const { rows } = await sql('SELECT granted FROM approvals WHERE id = $1', [id]);
    expect(rows).toEqual([{ granted: [{ key: agent.id, id: 'daily', amount: '3 USDC' }] }]);
  });

  test('never get more than the page has said', async () => {
    await setPolicy(agent, { rules: [{ effect: 'ask', amount: { gt: 5 } }, { effect: 'allow' }], budgets: [daily] });
    const id = await ask({ amount: 8 });
    for (const _ of [1, 2]) expect((await pay({ amount: 5 })).status).toBe(200);
    const page = await clickApprove(id);
    expect([page.status, await balance()]).toEqual([409, 90]);
    expect(page.text).toContain('Budget daily');
    expect(page.text).toContain('8 USDC beyond it');
    await browser.submit(`/approve/${id}`);
    expect(await balance()).toBe(82);
  });

  test('do not open one that denies', async () => {
    await setPolicy(agent, { budgets: [daily, { ...daily, id: 'hard', amount: 9, onExceed: 'deny' }] });
    expect((await pay({ amount: 11 })).body.code).toBe('budget_exceeded');
    await setPolicy(agent, { budgets: [daily, { ...daily, id: 'hard', amount: 12, onExceed: 'deny' }] });
    const id = await ask({ amount: 11 });
    await client.post('/agent/transfer', { to: grace.handle, amount: 5, currency: 'USDC' }, agent.apiKey);
    const page = await clickApprove(id);
    expect([page.status, await balance()]).toEqual([409, 95]);
    expect(page.text).toContain('hard');
  });
});

describe('every way to pay', () => {
  beforeEach(() => setPolicy(agent, { rules: [{ effect: 'ask' }] }));

  test.each([
    ['/circle/withdraw', { amount: 20, address: `0x${'7'.repeat(40)}` }, 200],
    ['/cross-chain/transfer', { from: 'MATIC', to: 'BASE', amount: 20 }, 200],
    ['/swap/execute', { from: 'USDC', to: 'ETH', amount: 20 }, 200],
    ['/shopping/buy', mug, 200],
    ['/nano/pay', { url: 'http://demo-seller.example/forecast', maxAmount: 1 }, 200],
  ])('%s', async (path, body, status) => {
    const asked = await client.post(path, { ...body, note: 'Please.' }, agent.apiKey);
    expect(asked, JSON.stringify(asked.body)).toMatchObject({ status: 202, body: { status: 'approval_required' } });
    const id = asked.body.approvalId;
    expect(await balance()).toBe(100);
    const again = await client.post(path, body, agent.apiKey);
    expect(again.body.approvalId).toBe(id);
    const done = await clickApprove(id);
    expect(done, done.text).toMatchObject({ status: 303 });
    const { body: approval } = await look(id);
    expect(approval, JSON.stringify(approval)).toMatchObject({ status: 'executed', result: { status } });
    expect(await balance()).toBe(Math.round((100 - Number(approval.amount)) * 1e6) / 1e6);
  });

  test('an invoice', async () => {
    const { body: invoice } = await client.post(
      '/invoices',
      { toHandle: owner.handle, amount: 12, currency: 'USDC', description: 'Tea' },
      grace.key,
    );
    const asked = await client.post(`/invoices/${invoice.id}/pay`, { note: 'Tea.' }, agent.apiKey);
    expect(asked.status, JSON.stringify(asked.body)).toBe(202);
    await clickApprove(asked.body.approvalId);
    expect((await look(asked.body.approvalId)).body).toMatchObject({
      status: 'executed',
      result: { body: { status: 'paid' } },
    });
    expect(await balance()).toBe(88);
  });

  test('an invoice that was paid or cancelled meanwhile fails', async () => {
    const { body: invoice } = await client.post(
      '/invoices',
      { toHandle: owner.handle, amount: 12, currency: 'USDC', description: 'Tea' },
      grace.key,
    );
    const asked = await client.post(`/invoices/${invoice.id}/pay`, undefined, agent.apiKey);
    await client.post(`/invoices/${invoice.id}/cancel`, undefined, grace.key);
    await clickApprove(asked.body.approvalId);
    expect((await look(asked.body.approvalId)).body).toMatchObject({
      status: 'failed',
      reason: { code: 'invoice_already_cancelled' },
    });
    expect(await balance()).toBe(100);
  });
});

describe('the result', () => {
  test('is not made anew when its answer is not kept any more', async () => {
    const paths = ['/agent/transfer', '/nano/pay', '/shopping/buy'];
    await setPolicy(agent, { rules: [{ effect: 'ask' }] });
    const bodies = [
      { to: grace.handle, amount: 8, currency: 'USDC' },
      { url: 'http://demo-seller.example/forecast', maxAmount: 1 },
      { ...mug },
    ];
    const ids: string[] = [];
    for (const [index, path] of paths.entries()) {
      const { body } = await client.post(path, bodies[index], agent.apiKey);
      await clickApprove(body.approvalId);
      ids.push(body.approvalId);
    }
    const paid = await balance();
    await sql('DELETE FROM ledger.idempotency_keys');
    for (const id of ids) expect((await look(id)).body).toMatchObject({ status: 'executed', result: null });
    expect(await balance()).toBe(paid);
  });
});

describe('deciding beside other changes', () => {
  test('ending the session, cancelling and denying at the same moment is never an error', async () => {
    for (let round = 0; round < 8; round++) {
      const id = await ask({ amount: 6 + round / 10 });
      const { body } = await client.get('/account/sessions', owner.key);
      await browser.get(`/approve/${id}`);
      const replies = await Promise.all([
        browser.submit(`/approve/${id}`),
        round % 2 === 0
          ? client.request('DELETE', `/account/sessions/${body.sessions[0].id}`, { key: owner.key })
          : client.post(`/approvals/${id}/cancel`, undefined, agent.apiKey),
      ]);
      for (const { status } of replies) expect(status).toBeLessThan(500);
      const before = await balance();
      const { status } = (await look(id)).body;
      expect(['executed', 'cancelled', 'pending']).toContain(status);
      await browser.signIn(owner);
      expect(await balance()).toBe(before);
    }
  });
});

test('an approval is forgotten after 30 days', async () => {
  const [old, young] = [await ask(), await ask({ amount: 9 })];
  await sql("UPDATE approvals SET created_at = created_at - interval '30 days 1 minute' WHERE id = $1", [old]);
  await forgetApprovals(service.database.db);
  expect((await look(old)).status).toBe(404);
  expect((await look(young)).status).toBe(200);
});

describe('waiting', () => {
  test('ends with the decision', async () => {
    const id = await ask();
    const waiting = client.get(`/approvals/${id}?wait=30`, agent.apiKey);
    await clickApprove(id);
    expect((await waiting).body).toMatchObject({ status: 'executed', result: { status: 200 } });
  });

  test('takes 0 to 30 seconds', async () => {
    const id = await ask();
    for (const wait of ['31', '-1', '1.5', 'x', '']) {
      expect((await client.get(`/approvals/${id}?wait=${wait}`, agent.apiKey)).body.code).toBe('invalid_request');
    }
    expect((await client.get(`/approvals/${id}?wait=0`, agent.apiKey)).body.status).toBe('pending');
  });
});

describe('limits', () => {
  test('at most 20 wait at once', async () => {
    for (let amount = 6; amount < 26; amount++) await ask({ amount });
    expect((await pay({ amount: 30 })).body.code).toBe('too_many_approvals');
    expect(await ask({ amount: 6 })).toMatch(/^apr_/);
  });

  test('a note has at most 200 characters', async () => {
    expect((await pay({ note: 'x'.repeat(201) })).body).toMatchObject({
      code: 'invalid_request',
      errors: [{ path: 'note' }],
    });
  });
});
