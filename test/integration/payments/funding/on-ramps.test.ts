import { randomUUID } from 'node:crypto';
import type { Hex } from 'viem';
import { beforeAll, describe, expect, test } from 'vitest';
import { readSettings } from '../../../../src/app/read-settings.ts';
import { systemClock } from '../../../../src/kernel/clock.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import {
  createCoinbaseOnRamp,
  readCoinbaseKey,
} from '../../../../src/payments/funding/adapters/coinbase/coinbase-on-ramp.ts';
import { startCoinbase } from '../../../emulators/on-ramps/coinbase.ts';
import { moonPay } from '../../../emulators/on-ramps/moonpay.ts';
import type { TestAccount } from '../../../support/client.ts';
import { addressOf, askForLink, endLink, payFromWallet, type TestLink } from '../../../support/funding.ts';
import { useService } from '../../../support/service.ts';

const coinbase = await startCoinbase();
const coinbaseWithOtherKey = await startCoinbase('ec');
const lines: string[] = [];
const service = useService({
  env: { ...coinbase.env, ...moonPay.env },
  settings: { sandbox: { onRamp: false } },
  logger: createLogger('trace', { write: (line: string) => void lines.push(line) }),
});
const { db } = service.database;

let ada: TestAccount;
let address: Hex;
beforeAll(async () => {
  ada = await service.client.register({ name: 'Ada' });
  address = await addressOf(service.client, ada);
});

const ask = (amount = 25, currency?: string) => askForLink(service.client, ada, amount, currency);
const card = async ({ id }: TestLink) => (await service.client.get(`/circle/buy-sessions/${id}`, ada.key)).body.card;
const balance = async () => (await service.client.get('/circle/balance', ada.key)).body.USDC;
const click = ({ token }: TestLink, name: string) =>
  fetch(`${service.url}/buy/card/${name}?token=${token}`, { redirect: 'manual' });
const logged = (text: string) => lines.filter((line) => line.includes(text)).map((line) => JSON.parse(line));

/** What each company says of a payment, in its own words and with its own signature. */
const companies = {
  coinbase: {
    states: {
      pending: 'onramp.transaction.updated',
      sent: 'onramp.transaction.success',
      failed: 'onramp.transaction.failed',
    },
    notice: (link: TestLink, state: 'pending' | 'sent' | 'failed', { amount = '25', paymentId = randomUUID() } = {}) =>
      JSON.stringify({
        eventType: companies.coinbase.states[state],
        transactionId: paymentId,
        partnerUserRef: link.id,
        purchaseCurrency: 'USDC',
        purchaseNetwork: 'polygon',
        purchaseAmount: { currency: 'USDC', value: amount },
        walletAddress: address,
        failureReason: state === 'failed' ? 'FAILURE_REASON_CARD_DECLINED' : 'FAILURE_REASON_UNSPECIFIED',
      }),
    sign: coinbase.sign,
  },
  moonpay: {
    states: { pending: 'pending', sent: 'completed', failed: 'failed' },
    notice: (link: TestLink, state: 'pending' | 'sent' | 'failed', { amount = '25', paymentId = randomUUID() } = {}) =>
      JSON.stringify({
        type: 'transaction_updated',
        data: {
          id: paymentId,
          status: companies.moonpay.states[state],
          externalTransactionId: link.id,
          quoteCurrencyAmount: Number(amount),
          currency: { code: 'usdc_polygon' },
          walletAddress: address.toLowerCase(),
          failureReason: state === 'failed' ? 'card declined' : null,
        },
      }),
    sign: moonPay.sign,
  },
};

const tell = async (name: string, body: string, headers: Record<string, string>) =>
  fetch(`${service.url}/api/funding/${name}/notices`, { method: 'POST', headers, body });

describe('one click on the card control', () => {
  test('opens a session at Coinbase, made now and for this link', async () => {
    const link = await ask(25.5);
    expect(coinbase.sessions).toEqual([]);
    const reply = await click(link, 'coinbase');
    expect(reply.status).toBe(303);
    expect(reply.headers.get('location')).toMatch(new RegExp(`^${coinbase.url}/buy\\?sessionToken=`));
    expect(reply.headers.get('referrer-policy')).toBe('no-referrer');
    expect(coinbase.sessions.at(-1)?.body).toEqual({
      purchaseCurrency: 'USDC',
      purchaseAmount: '25.5',
      paymentCurrency: 'USD',
      destinationNetwork: 'polygon',
      destinationAddress: address,
      partnerUserRef: link.id,
      redirectUrl: `${service.url}/buy/return`,
    });
    // Each click is another session, because one works only once.
    await click(link, 'coinbase');
    expect(coinbase.sessions).toHaveLength(2);
  });

  test('opens MoonPay by an address that nobody can change', async () => {
    const link = await ask();
    const where = (await click(link, 'moonpay')).headers.get('location') ?? '';
    expect(where.startsWith(`${moonPay.url}/?`)).toBe(true);
    expect(moonPay.open(where)).toMatchObject({
      currencyCode: 'usdc_polygon',
      walletAddress: address,
      quoteCurrencyAmount: '25',
      externalTransactionId: link.id,
      redirectURL: `${service.url}/buy/return`,
    });
    expect(moonPay.open(where.replace(address, '0x0000000000000000000000000000000000000001'))).toBeUndefined();
  });

  test('shows nobody the token, and brings the person back to the link', async () => {
    const link = await ask();
    for (const name of ['coinbase', 'moonpay']) {
      const reply = await click(link, name);
      expect(reply.headers.get('location')).not.toContain(link.token);
      const [cookie = '', ...attributes] = (reply.headers.get('set-cookie') ?? '').split('; ');
      expect(attributes).toEqual(['Path=/buy/return', 'Max-Age=3600', 'HttpOnly', 'SameSite=Lax']);
      const back = await fetch(`${service.url}/buy/return`, { headers: { cookie }, redirect: 'manual' });
      expect([back.status, back.headers.get('location')]).toEqual([303, `/buy?token=${link.token}`]);
    }
    expect(coinbase.heard.join('')).not.toContain(link.token);
    const lost = await fetch(`${service.url}/buy/return`);
    expect([lost.status, (await lost.text()).includes('You are back')]).toEqual([200, true]);
  });

  test.each([
    { status: 500, body: 'no' },
    { status: 201, body: '{"session":{}}' },
    { status: 201, body: '<html>' },
    { status: 201, body: JSON.stringify({ session: { onrampUrl: 'javascript:alert(1)' } }) },
    { status: 429, body: '{}' },
  ])('says so in a page when the company answers %j', async (failure) => {
    const link = await ask();
    coinbase.failWith = failure;
    const reply = await click(link, 'coinbase');
    coinbase.failWith = undefined;
    expect(reply.status).toBe(503);
    const text = await reply.text();
    expect(text).toContain('Something went wrong');
    expect(text).toContain(`/buy?token=${link.token}`);
    expect(text).not.toMatch(/Coinbase answered|\.ts:\d/);
    expect(logged('a card payment cannot start').length).toBeGreaterThan(0);
  });

  test('leads back to the page when there is nothing to pay, or nobody of that name', async () => {
    const link = await ask();
    expect((await click(link, 'nobody')).headers.get('location')).toBe(`/buy?token=${link.token}`);
    await endLink(db, link.id);
    const before = coinbase.sessions.length;
    expect((await click(link, 'coinbase')).headers.get('location')).toBe(`/buy?token=${link.token}`);
    expect(coinbase.sessions).toHaveLength(before);
    expect((await click({ ...link, token: 'x' }, 'coinbase')).status).toBe(404);
  });

  test('is offered by each company that sells it, and for what none sells not at all', async () => {
    const page = await (await fetch((await ask()).url)).text();
    expect([...page.matchAll(/href="\/buy\/card\/(\w+)\?/g)].map(([, name]) => name)).toEqual(['coinbase', 'moonpay']);
    const euros = await (await fetch((await ask(25, 'EURC')).url)).text();
    expect(euros).not.toContain('/buy/card/');
    expect(euros).toContain('ethereum:');
  });
});

describe.each(Object.entries(companies))('a notice of %s', (name, { notice, sign }) => {
  test('changes what is shown, and never a balance', async () => {
    const link = await ask();
    const before = await balance();
    const paymentId = randomUUID();
    for (const state of ['pending', 'sent'] as const) {
      const body = notice(link, state, { paymentId });
      expect((await tell(name, body, sign(body))).status).toBe(200);
      expect(await card(link)).toEqual({ provider: name, status: state, reason: null });
    }
    expect(await (await fetch(link.url)).text()).toContain('has sent the money');
    expect(await balance()).toBe(before);
    const { body } = await service.client.get(`/circle/buy-sessions/${link.id}`, ada.key);
    expect(body.status).toBe('open');
  });

  test('of a refusal says why, and another card may be tried', async () => {
    const link = await ask();
    const refused = notice(link, 'failed');
    await tell(name, refused, sign(refused));
    expect(await card(link)).toEqual({ provider: name, status: 'failed', reason: 'card declined' });
    expect(await (await fetch(link.url)).text()).toContain('was refused: card declined. Nothing was charged.');
    const again = notice(link, 'pending');
    await tell(name, again, sign(again));
    expect(await card(link)).toMatchObject({ status: 'pending' });
  });

  test('that is forged is refused, and logged', async () => {
    const link = await ask();
    const body = notice(link, 'sent');
    const good = sign(body);
    const header = Object.keys(good).find((key) => key.includes('signature')) ?? '';
    const value = good[header] ?? '';
    const forged: [string, Record<string, string>][] = [
      [body, sign(body, { secret: 'somebody else' })],
      [body.replace('25', '26'), good],
      [`${body} `, good],
      [body, { 'content-type': 'application/json' }],
      [body, { ...good, [header]: value.replace(/.$/, (last) => (last === '0' ? '1' : '0')) }],
      [body, { ...good, [header]: 'nonsense' }],
      [body, { ...good, [header]: value.replace(/[^=]{64}$/, '') }],
      [body, { ...good, [header]: value.replace(/^t=\d+/, `t=${Math.floor(Date.now() / 1_000) + 9}`) }],
    ];
    const refusals = () => logged('refused a card notice with an invalid signature').length;
    const before = refusals();
    for (const [content, headers] of forged) {
      const reply = await tell(name, content, headers);
      expect([reply.status, ((await reply.json()) as { code: string }).code]).toEqual([401, 'invalid_signature']);
    }
    expect(await card(link)).toBeNull();
    // The first at once, and the others by their number, once a minute.
    expect(refusals()).toBeGreaterThan(0);
    expect(refusals() - before).toBeLessThan(forged.length);
  });

  test('that is replayed later is refused, and one that is told twice changes nothing', async () => {
    const link = await ask();
    const body = notice(link, 'sent');
    for (const atMs of [Date.now() - 6 * 60_000, Date.now() + 6 * 60_000]) {
      expect((await tell(name, body, sign(body, { atMs }))).status).toBe(401);
    }
    expect(await card(link)).toBeNull();
    const headers = sign(body);
    await tell(name, body, headers);
    const once = await db.query('SELECT * FROM funding_card_payments WHERE link_id = $1', [link.id]);
    const known = logged('a card notice that was received before').length;
    expect((await tell(name, body, headers)).status).toBe(200);
    expect((await db.query('SELECT * FROM funding_card_payments WHERE link_id = $1', [link.id])).rows).toEqual(
      once.rows,
    );
    expect(logged('a card notice that was received before')).toHaveLength(known + 1);
  });

  test('that comes late or out of order does not turn back what was said', async () => {
    const link = await ask();
    const paymentId = randomUUID();
    for (const state of ['sent', 'pending', 'failed'] as const) {
      const body = notice(link, state, { paymentId });
      await tell(name, body, sign(body));
    }
    expect(await card(link)).toMatchObject({ status: 'sent' });
  });

  test.each([
    ['another amount', (link: TestLink) => notice(link, 'sent', { amount: '250' }), 'other_amount'],
    [
      'another address',
      (link: TestLink) => notice(link, 'sent').replace(/0x[0-9a-fA-F]{40}/, `0x${'1'.repeat(40)}`),
      'other_address',
    ],
    [
      'another currency',
      (link: TestLink) => notice(link, 'sent').replaceAll('USDC', 'EURC').replace('usdc', 'eurc'),
      'other_currency',
    ],
    ['a link that is not there', () => notice({ id: 'fnd_nothing', url: '', token: '' }, 'sent'), 'no_such_link'],
  ])('for %s is without effect, and logged', async (_what, make, why) => {
    const link = await ask();
    const body = make(link);
    expect((await tell(name, body, sign(body))).status).toBe(200);
    expect(await card(link)).toBeNull();
    expect(logged('a card notice that does not match its link').at(-1)).toMatchObject({
      level: 'warn',
      provider: name,
      why,
    });
  });

  test('for a link that is over is without effect', async () => {
    const link = await ask();
    await endLink(db, link.id);
    const body = notice(link, 'sent');
    await tell(name, body, sign(body));
    expect(await card(link)).toBeNull();
  });

  test('about something else is heard, and what is no JSON is refused', async () => {
    for (const body of ['{"eventType":"onramp.other","type":"customer_created"}', '{}']) {
      expect((await tell(name, body, sign(body))).status).toBe(200);
    }
    const reply = await fetch(`${service.url}/api/funding/${name}/notices`);
    expect(reply.status).toBe(405);
    expect((await tell(name, 'x'.repeat(70_000), {})).status).toBe(413);
  });
});

test('the deposit counts, whatever the card company has said or not said', async () => {
  const grace = await service.client.register({ name: 'Grace' });
  const link = await askForLink(service.client, grace, 25);
  const { sign, notice } = companies.coinbase;
  const to = await addressOf(service.client, grace);
  const refused = notice(link, 'failed').replace(address, to);
  await tell('coinbase', refused, sign(refused));
  const look = async () => (await service.client.get(`/circle/buy-sessions/${link.id}`, grace.key)).body;
  expect((await look()).card).toMatchObject({ status: 'failed' });
  await payFromWallet(service.client, { to, amount: 25 });
  await expect.poll(async () => (await look()).status).toBe('completed');
  // What is told after the end changes nothing, and the page says what is true.
  const late = notice(link, 'failed').replace(address, to);
  await tell('coinbase', late, sign(late));
  expect(await (await fetch(link.url)).text()).not.toContain('refused');
});

test('Coinbase takes tokens by either kind of key', async () => {
  const other = coinbaseWithOtherKey;
  const key = readCoinbaseKey(other.env['COINBASE_ONRAMP_KEY_SECRET'] ?? '');
  if (key === undefined) throw new Error('the key cannot be read');
  const onRamp = createCoinbaseOnRamp({
    keyId: other.env['COINBASE_ONRAMP_KEY_ID'] ?? '',
    key,
    webhookSecret: 'x',
    url: other.url,
    clock: systemClock,
  });
  const purchase = { reference: 'fnd_1', amount: amountOf('USDC', 1n), chain: 'MATIC', address } as const;
  await onRamp.begin({ ...purchase, returnUrl: 'http://127.0.0.1/', clientIp: '8.8.8.8' });
  expect(other.sessions[0]?.body).toMatchObject({ clientIp: '8.8.8.8', purchaseAmount: '0.000001' });
  const nobody = createCoinbaseOnRamp({ keyId: 'x', key, webhookSecret: 'x', url: other.url, clock: systemClock });
  await expect(nobody.begin({ ...purchase, returnUrl: '', clientIp: '' })).rejects.toThrow(
    'Coinbase answered with status 401',
  );
});

test('no log ever has a token in it', async () => {
  const link = await ask();
  const url = new URL(link.url);
  await fetch(link.url);
  await fetch(`${service.url}/buy/events?token=${link.token}`, { signal: AbortSignal.timeout(500) }).then(
    (reply) => reply.text().catch(() => ''),
    () => '',
  );
  await fetch(`${service.url}/buy/nothing${url.search}`);
  await fetch(`${service.url}/api/nothing${url.search}`);
  await fetch(link.url, { method: 'POST' });
  await click(link, 'coinbase');
  const { rows } = await db.query<{ id: string }>('SELECT id FROM funding_links');
  expect(rows.length).toBeGreaterThan(10);
  const log = lines.join('');
  expect(logged('"route":"/buy"').length).toBeGreaterThan(0);
  expect(log).not.toContain(link.token);
  expect(log).not.toMatch(/token=(?!\[redacted\])/);
});

describe('settings', () => {
  const live = { PAYWRIGHT_MODE: 'live' };
  test('that are half there are all named by live mode', () => {
    const half = { ...live, COINBASE_ONRAMP_KEY_ID: 'x', MOONPAY_SECRET_KEY: 'sk_x', MOONPAY_URL: 'http://m.example' };
    for (const line of [
      'COINBASE_ONRAMP_KEY_SECRET is missing',
      'COINBASE_ONRAMP_WEBHOOK_SECRET is missing',
      'MOONPAY_API_KEY is missing',
      'MOONPAY_WEBHOOK_KEY is missing',
      'MOONPAY_URL is unsafe',
    ]) {
      expect(() => readSettings(half)).toThrow(new RegExp(`^  - ${line}`, 'm'));
    }
    expect(() => readSettings(live)).toThrow(/^(?!.*(COINBASE|MOONPAY))/s);
  });

  test('are refused where they cannot be right, without repeating a secret', () => {
    expect(() => readSettings({ COINBASE_ONRAMP_KEY_SECRET: 'hunter2' })).toThrow(
      /^(?!.*hunter2)COINBASE_ONRAMP_KEY_SECRET must be/,
    );
    expect(() => readSettings({ MOONPAY_SECRET_KEY: 'pk_hunter2' })).toThrow(
      /^(?!.*hunter2)MOONPAY_SECRET_KEY must be/,
    );
    expect(() => readSettings({ MOONPAY_API_KEY: 'pk_1' })).toThrow('MoonPay is half set up');
  });

  test('never let a sandbox send people to those who take real money', () => {
    const { COINBASE_ONRAMP_URL: _, ...keys } = coinbase.env;
    expect(() => readSettings(keys)).toThrow('takes real cards');
    const { MOONPAY_URL: __, ...others } = moonPay.env;
    expect(() => readSettings(others)).toThrow('takes real cards');
  });
});
