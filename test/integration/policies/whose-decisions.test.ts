import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sandboxSecret } from '../../../sandbox/secret.ts';
import { createSecrets } from '../../../src/kernel/secrets/secrets.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { exportChain } from '../../../src/policies/decisions/prove.ts';
import { sealRoot } from '../../../src/policies/decisions/seal-root.ts';
import type { Client, TestAccount } from '../../support/client.ts';
import { type ExportedChain, verifyDecisions } from '../../support/decisions.ts';
import { createKey, type TestKey } from '../../support/key-tree.ts';
import { type OwnerBrowser, openOwnerBrowser } from '../../support/owner.ts';
import { useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const service = useService({ settings: { decisions: { sealAt: '0 0 30 2 *', windowMs: 200 } } });
const { db } = service.database;

let client: Client;
let owner: TestAccount;
let friend: TestAccount;
let browser: OwnerBrowser;

beforeAll(() => {
  client = service.client;
});

beforeEach(async () => {
  owner = await client.register();
  friend = await client.register();
  expect((await client.post('/sandbox/fund', { amount: 100 }, owner.key)).status).toBe(200);
  browser = openOwnerBrowser(service.url);
  await browser.signIn(owner);
});

/** A key that the owner creates on the page, as a root. */
async function pageKey(name: string): Promise<TestKey> {
  await browser.get('/app/keys/new');
  const page = await browser.submit('/app/keys/new', { name, may: 'pay', parent: '', expires: '' });
  const apiKey = /pa_live_\w+/.exec(page.text)?.[0] ?? '';
  const { keys } = (await client.get('/account/keys', owner.key)).body;
  return { id: keys.find((one: { name: string }) => one.name === name).id, apiKey };
}

async function limit({ id }: TestKey, by = owner.key): Promise<void> {
  const body = { budgets: [{ id: 'day', amount: 50, currency: 'USDC', window: 'day' }] };
  expect(await client.request('PUT', `/account/keys/${id}/policy`, { key: by, body })).toMatchObject({ status: 200 });
}

async function pay({ apiKey }: TestKey, amount = 1): Promise<string> {
  const body = { to: friend.handle, amount, currency: 'USDC' };
  const reply = await client.post('/agent/transfer', body, apiKey);
  expect(reply, JSON.stringify(reply.body)).toMatchObject({ status: 200 });
  return reply.body.transferId;
}

const operations = ['transfer', 'invoice', 'withdraw', 'bridge', 'swap', 'order', 'call'];

/** As the owner does on the page: no key is above a root. */
async function limitOnPage({ id }: TestKey): Promise<void> {
  await browser.get(`/app/keys/${id}`);
  const may = Object.fromEntries(operations.map((operation) => [`may-${operation}`, 'on']));
  const fields = { currency: 'USDC', day: '50', week: '', month: '', beyond: 'deny', askAbove: '', ...may };
  expect(await browser.submit(`/app/keys/${id}/policy`, fields)).toMatchObject({ status: 303 });
}

const read = (path: string, key: string) => client.get(`/account/decisions${path}`, key);
const idsOf = async (key: string, query = '') =>
  (await read(query, key)).body.decisions.map(({ id }: { id: string }) => id);
const exportOf = async (key: string): Promise<ExportedChain> => (await read('/export', key)).body;
const shownIn = ({ entries }: ExportedChain) => entries.map((entry) => ('record' in entry ? entry.record?.key : null));
const chained = async () => (await db.query('SELECT FROM decisions_waiting')).rowCount === 0;
const seal = async () => sealRoot({ db, secrets: createSecrets(await sandboxSecret(db)) });

describe('a root that the owner has limited speaks for itself alone', () => {
  test('and so it sees neither the list, nor a proof, nor the text of another key’s decisions', async () => {
    const [shopper, trader] = [await pageKey('Shopper'), await pageKey('Trader')];
    await limitOnPage(shopper);
    await limitOnPage(trader);
    await pay(shopper);
    await pay(trader);
    await until('all to be chained', chained);
    await seal();
    const [ofShopper] = await idsOf(shopper.apiKey);
    const [ofTrader] = await idsOf(trader.apiKey);
    expect(await idsOf(owner.key)).toEqual([ofTrader, ofShopper]);
    for (const [own, of, other, key] of [
      [shopper, ofShopper, ofTrader, trader.id],
      [trader, ofTrader, ofShopper, shopper.id],
    ] as const) {
      expect(await idsOf(own.apiKey)).toEqual([of]);
      expect(await idsOf(own.apiKey, `?key=${key}`)).toEqual([]);
      expect(await idsOf(own.apiKey, '?outcome=allow&limit=100')).toEqual([of]);
      expect((await read(`/${other}/proof`, own.apiKey)).body).toMatchObject({ code: 'decision_not_found' });
      const file = await exportOf(own.apiKey);
      expect(shownIn(file).filter((one) => one !== null)).toEqual([own.id]);
      expect(verifyDecisions(file)).toMatchObject({ from: 1, to: 2 });
      expect(JSON.stringify(file)).not.toContain(key);
    }
  });
});

test('a rotated key sees what its place has decided before, and a revoked one nothing', async () => {
  const parent = await createKey(client, owner.key);
  const [agent, sibling] = [await createKey(client, owner.key, parent), await createKey(client, owner.key, parent)];
  await limit(agent);
  await limit(sibling);
  await pay(agent);
  await pay(sibling);
  const [ofAgent] = await idsOf(agent.apiKey);
  const rotated = (await client.post(`/account/keys/${agent.id}/rotate`, { overlapSeconds: 60 }, owner.key)).body;
  for (const key of [agent.apiKey, rotated.apiKey]) expect(await idsOf(key)).toEqual([ofAgent]);
  await pay({ id: rotated.id, apiKey: rotated.apiKey });
  expect(await idsOf(agent.apiKey)).toHaveLength(2);
  expect(await idsOf(rotated.apiKey, `?key=${agent.id}`)).toEqual([ofAgent]);
  expect(await idsOf(rotated.apiKey, `?key=${sibling.id}`)).toEqual([]);
  expect(await idsOf(parent.apiKey)).toHaveLength(3);
  // A record says by which key it was asked at that time, and the keys of a list are never those of a sibling.
  const { decisions } = (await read('', rotated.apiKey)).body;
  expect(decisions.map(({ keys }: { keys: string[] }) => keys.slice(0, 2))).toEqual([
    [rotated.id, parent.id],
    [agent.id, parent.id],
  ]);
  await until('all to be chained', chained);
  await seal();
  expect(await client.request('DELETE', `/account/keys/${rotated.id}`, { key: owner.key })).toMatchObject({
    status: 200,
  });
  for (const path of ['', '/export', `/${ofAgent}/proof`])
    expect((await read(path, rotated.apiKey)).status, path).toBe(401);
  // What it did is still there for the keys above it.
  expect(await idsOf(parent.apiKey)).toHaveLength(3);
  expect((await read(`/${ofAgent}/proof`, parent.apiKey)).status).toBe(200);
});

describe('closing an account', () => {
  test('leaves its records in the chain and in later roots, and nobody to read them', async () => {
    const agent = await createKey(client, owner.key);
    await limit(agent);
    await pay(agent, 10);
    await until('all to be chained', chained);
    await seal();
    const before = await exportOf(owner.key);
    const [decision] = await idsOf(owner.key);
    const proof = (await read(`/${decision}/proof`, owner.key)).body;

    // Refused just before the account is closed: the record is written when it is closed.
    const body = { to: friend.handle, amount: 51, currency: 'USDC' };
    expect((await client.post('/agent/transfer', body, agent.apiKey)).status).toBe(403);
    const rest = { to: friend.handle, amount: 89.5, currency: 'USDC' };
    expect((await client.post('/agent/transfer', rest, owner.key)).status).toBe(200);
    const closing = { password: owner.password, forfeit: true };
    expect(await client.post('/account/close', closing, owner.key)).toMatchObject({ status: 200 });
    for (const key of [owner.key, agent.apiKey])
      for (const path of ['', '/export', `/${decision}/proof`]) expect((await read(path, key)).status, path).toBe(401);

    // Others go on, and so do the roots.
    const payer = await createKey(client, friend.key);
    await limit(payer, friend.key);
    const back = { to: owner.handle, amount: 1, currency: 'USDC' };
    expect((await client.post('/agent/transfer', back, payer.apiKey)).body.code).toBe('recipient_not_found');
    const stranger = await client.register();
    const on = { to: stranger.handle, amount: 1, currency: 'USDC' };
    expect((await client.post('/agent/transfer', on, payer.apiKey)).status).toBe(200);
    const caller = await callerOf(owner);
    await until('the refusal to be chained', async () => (await chainOf(caller)).entries.length === 2 && chained());
    await seal();

    const published = await (await fetch(`${service.url}/.well-known/paywright-decisions.json`)).json();
    for (const file of [before, proof]) expect(verifyDecisions(file, published)).toMatchObject({ to: 1, sealedTo: 1 });
    // What only the operator can still show.
    const whole = await chainOf(caller);
    expect(verifyDecisions(whole, published)).toMatchObject({ from: 1, to: 2, sealedTo: 2 });
    expect(whole.entries[1]?.record).toMatchObject({ account: owner.handle, outcome: 'deny', code: 'budget_exceeded' });
    expect(whole.entries[0]).toEqual(before.entries[0]);
    expect(verifyDecisions(await exportOf(friend.key), published)).toMatchObject({ from: 1, to: 1, sealedTo: 1 });
    expect((await verifyLedger(db)).problems).toEqual([]);
  });
});

type ChainCaller = Parameters<typeof exportChain>[1];

async function callerOf({ handle }: TestAccount): Promise<ChainCaller> {
  const { rows } = await db.query<ChainCaller>(
    `SELECT a.id AS account_id, a.handle, k.id AS key_id FROM accounts a JOIN api_keys k ON k.account_id = a.id
      WHERE a.handle = $1 AND cardinality(k.path) = 1`,
    [handle],
  );
  return rows[0] as ChainCaller;
}

async function chainOf(caller: ChainCaller): Promise<ExportedChain> {
  const { head, entries } = await exportChain(db, caller);
  const all: ExportedChain['entries'] = [];
  for await (const some of entries()) all.push(...some);
  return { ...head, entries: all };
}
