import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Elicitation, type Era, eras, type McpAgent } from '../../support/agents.ts';
import type { TestAccount } from '../../support/client.ts';
import { createKey, type TestKey } from '../../support/key-tree.ts';
import { mug } from '../../support/mug.ts';
import { openOwnerBrowser } from '../../support/owner.ts';
import { useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const service = useService();

/** Whose key asks, and who would be paid. */
interface Scene {
  readonly owner: TestAccount;
  readonly friend: TestAccount;
}

interface Asked {
  /** Beside `effect: ask`. */
  readonly rule?: object | ((scene: Scene) => object);
  readonly budget?: object;
  readonly tool: string;
  readonly given: (scene: Scene) => object | Promise<object>;
  readonly before?: (scene: Scene) => Promise<unknown>;
}

const outside = `0x${'7'.repeat(40)}`;
const post = async (path: string, body: object, key: string) => {
  const reply = await service.client.post(path, body, key);
  expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(300);
  return reply.body;
};
const send = {
  tool: 'send_money',
  given: ({ friend }: Scene) => ({ to: friend.handle, amount: 8, currency: 'USDC' }),
};
const paidBefore = ({ owner, friend }: Scene) =>
  post('/agent/transfer', { to: friend.handle, amount: 1, currency: 'USDC' }, owner.key);

/** Every member of a rule that can ask, and a budget. */
const asked: Readonly<Record<string, Asked>> = {
  'the operation transfer': { rule: { operation: ['transfer'] }, ...send },
  'the operation invoice': {
    rule: { operation: ['invoice'] },
    tool: 'pay_invoice',
    async given({ owner, friend }) {
      const invoice = { toHandle: owner.handle, amount: 8, currency: 'USDC', description: 'Tea' };
      return { id: (await post('/invoices', invoice, friend.key)).id };
    },
  },
  'the operation withdraw': {
    rule: { operation: ['withdraw'] },
    tool: 'withdraw',
    given: () => ({ address: outside, amount: 20, currency: 'USDC' }),
  },
  'the operation bridge': {
    rule: { operation: ['bridge'] },
    tool: 'bridge',
    given: () => ({ from: 'MATIC', to: 'BASE', amount: 20 }),
  },
  'the operation swap': {
    rule: { operation: ['swap'] },
    tool: 'swap',
    given: () => ({ from: 'USDC', to: 'ETH', amount: 20 }),
  },
  'the operation order': { rule: { operation: ['order'] }, tool: 'buy_product', given: () => mug },
  'the operation call': {
    rule: { operation: ['call'] },
    tool: 'pay_url',
    given: () => ({ url: 'http://demo-seller.example/forecast', maxAmount: 1 }),
  },
  'the asset': {
    rule: { asset: ['EURC'] },
    tool: 'send_money',
    given: ({ friend }) => ({ to: friend.handle, amount: 8, currency: 'EURC' }),
  },
  'the amount': { rule: { amount: { gt: 5 } }, ...send },
  'the counterparty': { rule: ({ friend }) => ({ counterparty: [friend.handle] }), ...send },
  'a known counterparty': { rule: { counterpartyIs: 'known' }, ...send, before: paidBefore },
  'a new counterparty': { rule: { counterpartyIs: 'new' }, ...send },
  // In the sandbox, an email is verified at once.
  'a verified counterparty': { rule: { counterpartyIs: 'verified' }, ...send },
  'the chain': {
    rule: { chain: ['BASE'] },
    tool: 'bridge',
    given: () => ({ from: 'MATIC', to: 'BASE', amount: 21 }),
  },
  'the hours': { rule: { hours: { from: '00:00', to: '24:00', timeZone: 'UTC' } }, ...send },
  'a budget': { budget: { id: 'daily', amount: 5, currency: 'USDC', window: 'day', onExceed: 'ask' }, ...send },
};

const modes = { form: { form: {} }, url: { url: {} } } as const;
const behaviours = {
  accepts: async () => ({ action: 'accept', content: { approve: 'yes' } }) as const,
  declines: async () => ({ action: 'decline' }) as const,
  hangs: () => new Promise<never>(() => {}),
} satisfies Record<string, Elicitation['answer']>;

/** How a client can ask its person, and what it does then. One that cannot has nothing to answer. */
const profiles: Readonly<Record<string, Elicitation | undefined>> = {
  'no elicitation': undefined,
  ...Object.fromEntries(
    Object.entries(modes).flatMap(([mode, capabilities]) =>
      Object.entries(behaviours).map(([name, answer]) => [
        `${mode} elicitation that ${name}`,
        { capabilities, answer },
      ]),
    ),
  ),
};

interface Watched {
  readonly agent: McpAgent;
  /** How often its person was asked. */
  readonly timesShown: () => number;
  /** Resolves when its person is asked the next time. */
  readonly shown: () => Promise<void>;
  /** How many of its requests the service has not answered to the end. */
  readonly open: () => number;
}

async function connectWatched(connect: Era, elicitation: Elicitation | undefined): Promise<Watched> {
  let [open, timesShown] = [0, 0];
  let tell = () => {};
  const agent = await connect({
    url: service.url,
    key: key.apiKey,
    async fetch(input, init) {
      open++;
      const response = await fetch(input, init);
      const text = await response.text();
      open--;
      return new Response(text === '' ? null : text, response);
    },
    ...(elicitation && {
      elicitation: {
        ...elicitation,
        answer() {
          timesShown++;
          tell();
          return elicitation.answer();
        },
      },
    }),
  });
  const shown = () =>
    new Promise<void>((resolve) => {
      tell = resolve;
    });
  return { agent, timesShown: () => timesShown, shown, open: () => open };
}

interface TestClient extends Watched {
  readonly name: string;
  /** Whether it is asked at all: only protocol 2026-07-28 tells with each request what a client can do. */
  readonly isAsked: boolean;
  readonly hangs: boolean;
}

/** The clients of one era come together. Those of all eras would be more than may search the shop at once. */
const connectAll = (): Promise<readonly (readonly TestClient[])[]> =>
  Promise.all(
    Object.entries(eras).map(([era, connect]) =>
      Promise.all(
        Object.entries(profiles).map(async ([profile, elicitation]) => ({
          ...(await connectWatched(connect, elicitation)),
          name: `${era}, ${profile}`,
          isAsked: era === '2026-07-28' && elicitation?.capabilities === modes.url,
          hangs: elicitation?.answer === behaviours.hangs,
        })),
      ),
    ),
  );

let owner: TestAccount;
let key: TestKey;

async function openAccount() {
  owner = await service.client.register();
  await post('/sandbox/fund', { amount: 100 }, owner.key);
  key = await createKey(service.client, owner.key);
}

async function setPolicy(body: object) {
  const reply = await service.client.request('PUT', `/account/keys/${key.id}/policy`, { key: owner.key, body });
  expect(reply, JSON.stringify(reply.body)).toMatchObject({ status: 200 });
}

/** Everything that the account has, and that was ever taken from it or given to it. */
async function moved() {
  const { rows } = await service.database.db.query<{ count: bigint }>(
    `SELECT count(*) FROM ledger.postings p JOIN accounts a ON a.id IN (p.sender_id, p.recipient_id) WHERE a.handle = $1`,
    [owner.handle],
  );
  const [balance, history] = await Promise.all([
    service.client.get('/circle/balance', owner.key),
    service.client.get('/circle/transfers', owner.key),
  ]);
  return { postings: Number(rows[0]?.count), balance: balance.body, history: history.body.transfers };
}

/** What a call leads to. Undefined for a client that hangs and so never gets its result. */
async function approvalOf(client: TestClient, tool: string, request: object): Promise<string | undefined> {
  const { name, agent, isAsked, hangs, shown, timesShown, open } = client;
  const before = timesShown();
  const next = shown();
  const call = agent.call(tool, request);
  if (isAsked && hangs) {
    call.catch(() => {});
    await next;
    // The service has answered with its question, and keeps nothing for this client.
    expect(open(), name).toBe(0);
    return undefined;
  }
  const { isError, structuredContent } = await call;
  expect(structuredContent, name).toMatchObject({
    status: 'approval_required',
    url: expect.stringContaining('/approve/apr_'),
  });
  expect(isError, name).toBeUndefined();
  expect([timesShown() - before, open()], name).toEqual([isAsked ? 1 : 0, 0]);
  return structuredContent.approvalId;
}

describe('whatever clients can ask and answer, no payment is made that is asked about for', () => {
  let clients: readonly (readonly TestClient[])[];

  beforeAll(async () => {
    await openAccount();
    await post('/sandbox/fund', { amount: 50, currency: 'EURC' }, owner.key);
    clients = await connectAll();
  });
  afterAll(() => Promise.all(clients.flat().map(({ agent }) => agent.close())));

  test.each(Object.entries(asked))('%s', async (_name, { rule, budget, tool, given, before }) => {
    const scene = { owner, friend: await service.client.register({ name: 'Grace Hopper' }) };
    await before?.(scene);
    const members = typeof rule === 'function' ? rule(scene) : rule;
    await setPolicy(budget ? { budgets: [budget] } : { rules: [{ effect: 'ask', ...members }, { effect: 'allow' }] });
    const request = await given(scene);
    const unmoved = await moved();

    const approvals: unknown[] = [];
    for (const together of clients) {
      approvals.push(...(await Promise.all(together.map((client) => approvalOf(client, tool, request)))));
    }
    expect(await moved()).toEqual(unmoved);
    const [approval, ...others] = new Set(approvals.filter((id) => id !== undefined));
    expect(others).toEqual([]);
    expect((await service.client.get(`/approvals/${approval}`, key.apiKey)).body.status).toBe('pending');
  });

  test('and none of them was made later', async () => {
    const { body } = await service.client.get('/approvals', key.apiKey);
    const states = body.approvals.map(({ status }: { status: string }) => status);
    expect(states).toEqual(Object.keys(asked).map(() => 'pending'));
    expect(clients.flat().filter(({ open }) => open() > 0)).toEqual([]);
  });
});

describe('the owner approves while a client that was asked hangs', () => {
  test.each([
    ['a rule', { rules: [{ effect: 'ask' }] }],
    ['a budget', { budgets: [{ id: 'all', amount: 5, currency: 'USDC', window: 'once', onExceed: 'ask' }] }],
  ])('with %s: one payment, whatever the client answers then', async (_name, policy) => {
    await openAccount();
    await setPolicy(policy);
    let answer = (_: { action: 'decline' }) => {};
    const answered = new Promise<{ action: 'decline' }>((resolve) => {
      answer = resolve;
    });
    const late = { capabilities: modes.url, answer: () => answered };
    const { agent, shown } = await connectWatched(eras['2026-07-28'], late);
    const next = shown();
    const friend = await service.client.register();
    const call = agent.call('send_money', send.given({ owner, friend }));
    await next;
    const before = await moved();
    const [{ id }] = (await service.client.get('/approvals', key.apiKey)).body.approvals;
    const browser = openOwnerBrowser(service.url);
    await browser.signIn(owner);
    await browser.get(`/approve/${id}`);
    expect((await browser.submit(`/approve/${id}`)).status).toBe(303);
    answer({ action: 'decline' });
    expect((await call).structuredContent).toMatchObject({ status: 'complete', amount: 8 });
    const after = await moved();
    expect(after.postings).toBe(before.postings + 1);
    expect(after.balance).toMatchObject({ USDC: '92' });
    await agent.close();
  });
});

const meta = 'io.modelcontextprotocol';
const shows = { elicitation: { url: {} } };

/** One message as bytes on the wire, of protocol 2026-07-28 if `isModern`. */
async function sendRaw(
  method: string,
  params: object,
  { isModern = true, signal = new AbortController().signal } = {},
) {
  const name = (params as { name?: string }).name;
  const version = '2026-07-28';
  const _meta = {
    ...(isModern && { [`${meta}/protocolVersion`]: version, [`${meta}/clientInfo`]: { name: 'raw', version: '1' } }),
    [`${meta}/clientCapabilities`]: shows,
  };
  const response = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key.apiKey}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(isModern && { 'mcp-protocol-version': version, 'mcp-method': method, ...(name && { 'mcp-name': name }) }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
    signal,
  });
  return response.text();
}

describe('a client that makes its answers up', () => {
  beforeAll(async () => {
    await openAccount();
    await setPolicy({ rules: [{ effect: 'ask' }] });
  });

  test('pays nothing with the approval of a person that was never asked', async () => {
    const friend = await service.client.register();
    const payment = send.given({ owner, friend });
    const asking = () => service.client.post('/agent/transfer', payment, key.apiKey);
    const own = (await asking()).body.approvalId;
    const [mine, myKey] = [owner, key];
    await openAccount();
    await setPolicy({ rules: [{ effect: 'ask' }] });
    const foreign = (await asking()).body.approvalId;
    expect(foreign).toMatch(/^apr_/);
    [owner, key] = [mine, myKey];

    const unmoved = await moved();
    const accepted = { inputResponses: { approval: { action: 'accept' } } };
    for (const [requestState, expected] of [
      [own, '"approval_required"'],
      [foreign, '"approval_not_found"'],
      ['apr_01kp3v2m8rfk2s6y0e6v9q4w1x', '"approval_not_found"'],
      ['../account', '"isError":true'],
      ['', '"isError":true'],
    ]) {
      const call = { name: 'send_money', arguments: payment, requestState, ...accepted };
      expect(await sendRaw('tools/call', call)).toContain(expected);
    }
    // Without the state it is a call like the first one.
    expect(await sendRaw('tools/call', { name: 'send_money', arguments: payment, ...accepted })).toContain(
      '"input_required"',
    );
    expect(await moved()).toEqual(unmoved);
  });

  test('gets the link when it claims in an older protocol what only the newest one knows', async () => {
    const friend = await service.client.register();
    const call = { name: 'send_money', arguments: send.given({ owner, friend }) };
    expect(await sendRaw('tools/call', call, { isModern: false })).toContain('/approve/apr_');
  });

  test('holds no stream open by subscribing', async () => {
    const notifications = {
      toolsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ['paywright://reference'],
    };
    expect(await sendRaw('subscriptions/listen', { notifications })).toContain('"resultType":"complete"');
  });
});

describe.each(Object.entries(eras))('clients of protocol %s that wait', (_era, connect) => {
  test('give their places back when they hang up', async () => {
    await openAccount();
    await setPolicy({ rules: [{ effect: 'ask' }] });
    const friend = await service.client.register();
    const asking = await service.client.post('/agent/transfer', send.given({ owner, friend }), key.apiKey);
    const id = asking.body.approvalId;

    /** Resolves once it waits, or with the result if it does not wait. */
    async function startWaiting(agent: McpAgent) {
      let tell = (_: 'waits') => {};
      const waits = new Promise<'waits'>((resolve) => {
        tell = resolve;
      });
      const call = agent.call('wait_for', { id, timeoutSeconds: 60 }, { onprogress: () => tell('waits') });
      call.catch(() => {});
      return { call, started: await Promise.race([waits, call]) };
    }

    const gone = await Promise.all(Array.from({ length: 10 }, () => connect({ url: service.url, key: key.apiKey })));
    for (const agent of gone) expect((await startWaiting(agent)).started).toBe('waits');
    const next = await connect({ url: service.url, key: key.apiKey });
    expect((await startWaiting(next)).started).toMatchObject({
      structuredContent: { status: 'pending', final: false },
    });

    await Promise.all(gone.map((agent) => agent.close()));
    let waiting: Awaited<ReturnType<typeof startWaiting>> | undefined;
    await until('a place to wait', async () => {
      waiting = await startWaiting(next);
      return waiting.started === 'waits';
    });
    await post(`/approvals/${id}/cancel`, {}, key.apiKey);
    expect((await waiting?.call)?.structuredContent).toMatchObject({ status: 'cancelled', final: true });
    await next.close();
  });
});
