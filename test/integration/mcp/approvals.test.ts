import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Elicitation, eras } from '../../support/agents.ts';
import type { Client, TestAccount } from '../../support/client.ts';
import { createKey, type TestKey } from '../../support/key-tree.ts';
import { openOwnerBrowser } from '../../support/owner.ts';
import { useService } from '../../support/service.ts';

const service = useService();

let client: Client;
let owner: TestAccount;
let grace: TestAccount;
let key: TestKey;

beforeAll(() => {
  client = service.client;
});

beforeEach(async () => {
  owner = await client.register();
  grace = await client.register({ name: 'Grace Hopper' });
  expect((await client.post('/sandbox/fund', { amount: 100 }, owner.key)).status).toBe(200);
  key = await createKey(client, owner.key);
  const body = { rules: [{ effect: 'ask', amount: { gt: 5 } }, { effect: 'allow' }] };
  const { status } = await client.request('PUT', `/account/keys/${key.id}/policy`, { key: owner.key, body });
  expect(status).toBe(200);
});

const balance = async () => Number((await client.get('/circle/balance', owner.key)).body.USDC);
const payment = () => ({ to: grace.handle, amount: 8, currency: 'USDC' });

async function approve(id: string) {
  const browser = openOwnerBrowser(service.url);
  await browser.signIn(owner);
  await browser.get(`/approve/${id}`);
  expect((await browser.submit(`/approve/${id}`)).status).toBe(303);
}

test('a client whose key is revoked while it waits learns nothing more', async () => {
  const agent = await eras['2026-07-28']({ url: service.url, key: key.apiKey });
  const { approvalId } = (await agent.call('send_money', payment())).structuredContent;
  let waiting: ReturnType<typeof agent.call> | undefined;
  await new Promise<void>((resolve) => {
    waiting = agent.call('wait_for', { id: approvalId, timeoutSeconds: 60 }, { onprogress: () => resolve() });
  });
  expect((await client.request('DELETE', `/account/keys/${key.id}`, { key: owner.key })).status).toBe(200);
  const browser = openOwnerBrowser(service.url);
  await browser.signIn(owner);
  await browser.get(`/approve/${approvalId}`);
  await browser.submit(`/approve/${approvalId}/deny`);
  expect(await waiting).toMatchObject({ isError: true, structuredContent: { code: 'unauthorized' } });
  await agent.close();
});

describe.each(Object.entries(eras))('a client of protocol %s that can show no page', (_era, connect) => {
  test('gets the link as a result, and the payment once the owner has approved it', async () => {
    const agent = await connect({ url: service.url, key: key.apiKey });
    const asked = await agent.call('send_money', payment());
    expect(asked.isError).toBeUndefined();
    expect(asked.structuredContent).toMatchObject({
      status: 'approval_required',
      url: expect.stringContaining('/approve/apr_'),
    });
    const { approvalId } = asked.structuredContent;
    expect(await balance()).toBe(100);

    const waiting = agent.call('wait_for', { id: approvalId, timeoutSeconds: 60 });
    await approve(approvalId);
    expect((await waiting).structuredContent).toMatchObject({
      status: 'executed',
      final: true,
      result: { status: 200, body: { amount: 8 } },
    });
    expect(await balance()).toBe(92);
    await agent.close();
  });
});

/** A client of protocol 2026-07-28 that says it can show pages, and answers for its person. */
const withPages = (answer: Elicitation['answer']) =>
  eras['2026-07-28']({
    url: service.url,
    key: key.apiKey,
    elicitation: { capabilities: { url: {}, form: {} }, answer },
  });

describe('a client that answers for its person', () => {
  test.each(['accept', 'decline', 'cancel'] as const)('with "%s" moves no money', async (action) => {
    let shown = 0;
    const agent = await withPages(async () => {
      shown++;
      return { action };
    });
    const asked = await agent.call('send_money', payment());
    expect(shown).toBe(1);
    expect(asked.structuredContent).toMatchObject({ status: 'approval_required' });
    expect(await balance()).toBe(100);
    await agent.close();
  });

  test('gets the response of the payment when the owner approved while the page was open', async () => {
    const agent = await withPages(async () => {
      const { body } = await client.get('/approvals', key.apiKey);
      await approve(body.approvals[0].id);
      return { action: 'accept' };
    });
    const paid = await agent.call('send_money', payment());
    expect(paid.structuredContent).toMatchObject({ status: 'complete', amount: 8 });
    expect(await balance()).toBe(92);
    await agent.close();
  });

  test('is told when the owner has denied it', async () => {
    const agent = await withPages(async () => {
      const { body } = await client.get('/approvals', key.apiKey);
      const browser = openOwnerBrowser(service.url);
      await browser.signIn(owner);
      await browser.get(`/approve/${body.approvals[0].id}`);
      await browser.submit(`/approve/${body.approvals[0].id}/deny`);
      return { action: 'accept' };
    });
    const denied = await agent.call('send_money', payment());
    expect(denied).toMatchObject({ isError: true, structuredContent: { code: 'approval_denied' } });
    expect(await balance()).toBe(100);
    await agent.close();
  });
});
