import { beforeAll, describe, expect, test } from 'vitest';
import { features } from '../../../../src/app/features.ts';
import { sagasOf } from '../../../../src/app/listed-feature.ts';
import { reconcile } from '../../../../src/custody/reserves/reconcile.ts';
import { reportReserves } from '../../../../src/custody/reserves/report.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import {
  type BroughtPayment,
  demand,
  type Facilitator,
  openFacilitator,
  receiptHeader,
  sells,
  startSeller,
  termsOf,
} from '../../../support/seller.ts';
import { useService } from '../../../support/service.ts';
import { until } from '../../../support/until.ts';

const seller = await startSeller();
/** Longer than all of this takes on a slow machine: what nobody takes is held until the last test lets the time pass. */
const holdSeconds = 600;
const service = useService({
  env: { ALLOW_PRIVATE_HOSTS: seller.host },
  settings: { purchases: { timeoutMs: 10_000, mostSeconds: holdSeconds } },
});

let ada: string;
let facilitator: Facilitator;
/** What has certainly left, in millionths. */
let left = 0n;

beforeAll(async () => {
  ({ key: ada } = await service.client.register());
  await service.client.post('/sandbox/fund', { amount: 10 }, ada);
  facilitator = await openFacilitator(service.database);
});

const pay = (body: object = {}) => service.client.post('/nano/pay', { url: seller.url, maxAmount: 1, ...body }, ada);
const look = async (id: string) => (await service.client.get(`/nano/purchases/${id}`, ada)).body;

async function isFinished(id: string) {
  return until(`${id} to be finished`, async () => {
    const found = await look(id);
    return found.status === 'pending' ? undefined : found;
  });
}

async function isPaid(id: string) {
  const found = await isFinished(id);
  expect(found).toMatchObject({ status: 'paid', error: null });
  left += BigInt(Math.round(found.amount * 1e6));
  return found;
}

async function differences(): Promise<string[]> {
  const networks = new Map([['MATIC', facilitator.network] as const]);
  const parts = { db: service.database.db, networks, logger: createLogger('silent'), chainTimeoutMs: 30_000 };
  const { reserves } = await reportReserves(parts);
  return reserves.flatMap(({ asset, difference }) => (difference === '0' ? [] : [`${asset}: ${difference}`]));
}

describe('before anything is paid, a seller that', () => {
  const unpaid: readonly (readonly [string, typeof seller.answer, number, object])[] = [
    ['hangs up', (_asked, response) => void response.destroy(), 502, { code: 'seller_unreachable' }],
    [
      'sends a megabyte of headers',
      (_asked, response) => void response.writeHead(402, { 'payment-required': 'x'.repeat(1_000_000) }).end(),
      502,
      { code: 'seller_unreachable' },
    ],
    [
      'hides its terms behind a megabyte',
      (_asked, response) =>
        void response.writeHead(402).end(JSON.stringify({ x402Version: 1, accepts: [], x: 'x'.repeat(2_000_000) })),
      502,
      { code: 'terms_unreadable' },
    ],
    [
      'nests its terms deeper than anybody reads',
      (_asked, response) => {
        const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`;
        const terms = JSON.stringify({ ...termsOf(seller), extensions: '@' }).replace('"@"', deep);
        response.writeHead(402, { 'payment-required': Buffer.from(terms).toString('base64') }).end('{}');
      },
      502,
      { code: 'terms_unreadable' },
    ],
    [
      'leads somewhere else',
      (_asked, response) => void response.writeHead(302, { location: 'http://169.254.169.254/latest/' }).end(),
      200,
      { status: 302, headers: { location: 'http://169.254.169.254/latest/' }, paid: 0, payment: null },
    ],
    [
      'sends more than anybody reads',
      (_asked, response) => void response.end('y'.repeat(3_000_000)),
      200,
      { truncated: true, body: 'y'.repeat(1_048_576), paid: 0 },
    ],
  ];

  test.each(unpaid)('%s', async (_, answer, status, body) => {
    seller.answer = answer;
    expect(await pay()).toMatchObject({ status, body });
  });
});

test('who keeps us waiting is not waited for', { tags: ['matrix'] }, async () => {
  seller.answer = async ({ path, payment }, response) => {
    if (path === '/silent') return;
    if (path === '/endless') {
      const drip = setInterval(() => response.write('x'), 50);
      response.on('close', () => clearInterval(drip));
    } else if (payment === undefined) demand(response, termsOf(seller, { maxTimeoutSeconds: 600 }));
    else if (path === '/taken') await facilitator.submit(payment);
  };
  const ask = (path: string) => pay({ url: `http://${seller.host}${path}` });
  const [silent, endless, taken, untaken] = await Promise.all(['/silent', '/endless', '/taken', '/untaken'].map(ask));
  for (const reply of [silent, endless]) expect(reply).toMatchObject({ status: 504, body: { code: 'seller_timeout' } });
  for (const reply of [taken, untaken]) {
    expect(reply).toMatchObject({
      status: 504,
      body: { code: 'seller_silent', paid: 0.01, payment: { receipt: null } },
    });
  }
  expect(await isPaid(taken?.body.payment.id)).toMatchObject({
    sellerStatus: null,
    sellerTrouble: 'timeout',
    answer: null,
  });
  expect(await look(untaken?.body.payment.id)).toMatchObject({ status: 'pending' });
});

describe('with the payment in hand, a seller that', () => {
  test('takes it and fails is told of as such, with its receipt', async () => {
    sells(seller, termsOf(seller), async (payment, _asked, response) => {
      const transaction = await facilitator.submit(payment);
      response.writeHead(500, receiptHeader(2, transaction)).end('oops');
    });
    const { status, body } = await pay();
    expect({ status, body }).toMatchObject({
      status: 502,
      body: {
        code: 'seller_failed',
        answer: { status: 500, body: 'oops' },
        paid: 0.01,
        payment: { receipt: { success: true } },
      },
    });
    expect(await isPaid(body.payment.id)).toMatchObject({ txHash: body.payment.transaction, sellerStatus: 500 });
  });

  test('takes it and sends more than anybody reads', async () => {
    sells(seller, termsOf(seller), async (payment, _asked, response) => {
      await facilitator.submit(payment);
      response.writeHead(200, { 'set-cookie': ['a=1', 'b=2'] }).end('z'.repeat(3_000_000));
    });
    const { body } = await pay();
    expect(body).toMatchObject({
      status: 200,
      headers: { 'set-cookie': ['a=1', 'b=2'] },
      truncated: true,
      body: 'z'.repeat(1_048_576),
      payment: { receipt: null, transaction: null },
    });
    await isPaid(body.payment.id);
  });

  test('takes it twice gets it once', async () => {
    const second: string[] = [];
    sells(seller, termsOf(seller), async (payment, _asked, response) => {
      const transaction = await facilitator.submit(payment);
      await facilitator.submit(payment).catch((error: Error) => void second.push(error.message));
      response.writeHead(200, receiptHeader(2, transaction)).end('ok');
    });
    const { body } = await pay();
    expect(second.join()).toMatch(/authorization is used/);
    await isPaid(body.payment.id);
  });

  test('names a transaction that is somebody else’s is not believed', async () => {
    const taken: BroughtPayment[] = [];
    sells(seller, termsOf(seller), async (payment, _asked, response) => {
      taken.push(payment);
      const named = taken.length === 1 ? await facilitator.submit(payment) : 'pay me';
      response.writeHead(200, receiptHeader(2, named)).end('ok');
    });
    const first = await pay();
    const { txHash } = await isPaid(first.body.payment.id);
    sells(seller, termsOf(seller), async (payment, _asked, response) => {
      taken.push(payment);
      response.writeHead(200, receiptHeader(2, txHash)).end('ok');
    });
    const { body } = await pay();
    expect(body.payment.transaction).toBe(txHash);
    expect((await look(body.payment.id)).status).toBe('pending');
    const hash = await facilitator.submit(taken.at(-1) as BroughtPayment);
    expect(await isPaid(body.payment.id)).toMatchObject({ txHash: hash });
  });

  test('takes several in one transaction', async () => {
    const taken: BroughtPayment[] = [];
    sells(seller, termsOf(seller), (payment, _asked, response) => {
      taken.push(payment);
      response.end('later');
    });
    const bought = await Promise.all([pay(), pay(), pay()]);
    const hash = await facilitator.submit(...taken);
    for (const { body } of bought) expect(await isPaid(body.payment.id)).toMatchObject({ txHash: hash });
  });

  test('is an account here gets it credited like any deposit', async () => {
    const grace = (await service.client.register()).key;
    const { depositAddress } = (await service.client.get('/account', grace)).body;
    sells(seller, termsOf(seller, { payTo: depositAddress, amount: '70000' }), async (payment, _asked, response) => {
      await facilitator.submit(payment);
      response.end('thanks');
    });
    await isPaid((await pay()).body.payment.id);
    await until('the deposit', async () => (await service.client.get('/circle/balance', grace)).body.USDC === '0.07');
    expect(await differences()).toEqual([]);
  });

  test('wants a year for it gets no more than the operator allows', async () => {
    sells(seller, termsOf(seller, { maxTimeoutSeconds: 31_536_000 }), async (payment, _asked, response) => {
      await facilitator.submit(payment);
      response.end('ok');
    });
    const { number } = await facilitator.network.client.getBlock();
    const { body } = await pay();
    const { timestamp } = await facilitator.network.client.getBlock({ blockNumber: number });
    const { expiresAt, createdAt } = await isPaid(body.payment.id);
    const start = Math.max(Number(timestamp) * 1_000, Date.parse(createdAt));
    expect(Date.parse(expiresAt) - start).toBeLessThanOrEqual(holdSeconds * 1_000);
  });
});

test('what is taken late is paid, what never is comes back, and until then it is held', {
  tags: ['matrix'],
}, async () => {
  const before = BigInt(Math.round(Number((await service.client.get('/circle/balance', ada)).body.USDC) * 1e6));
  // And a cent that a silent seller has not taken.
  expect(before).toBe(10_000_000n - left - 10_000n);
  const held: { id: string; payment: BroughtPayment; how: string }[] = [];
  async function refuses(how: string, answer: Parameters<typeof sells>[2], expected: object): Promise<void> {
    let brought: BroughtPayment | undefined;
    sells(seller, termsOf(seller, { maxTimeoutSeconds: 600 }), (payment, asked, response) => {
      brought = payment;
      return answer(payment, asked, response);
    });
    const reply = await pay();
    expect(reply, how).toMatchObject(expected);
    held.push({ id: reply.body.payment.id, payment: brought as BroughtPayment, how });
  }
  await refuses(
    'lies',
    (_p, _a, response) => void response.writeHead(200, receiptHeader(2, `0x${'1'.repeat(64)}`)).end('ok'),
    {
      status: 200,
      body: { paid: 0.01, payment: { receipt: { success: true } } },
    },
  );
  await refuses('asks again', (_p, _a, response) => demand(response, termsOf(seller)), {
    status: 502,
    body: { code: 'payment_refused', answer: { status: 402 } },
  });
  await refuses('changes its price', (_p, _a, response) => demand(response, termsOf(seller, { amount: '20000' })), {
    status: 502,
    body: { code: 'payment_refused', paid: 0.01 },
  });
  await refuses('refuses', (_p, _a, response) => void response.writeHead(404).end(), {
    status: 502,
    body: { code: 'seller_failed', answer: { status: 404 } },
  });
  await refuses('hangs up', (_p, _a, response) => void response.destroy(), {
    status: 504,
    body: { code: 'seller_silent' },
  });
  await refuses('leads elsewhere', (_p, _a, response) => void response.writeHead(307, { location: seller.url }).end(), {
    status: 200,
    body: { status: 307, paid: 0.01 },
  });
  await refuses('delivers and collects later', (_p, _a, response) => void response.end('ok'), { status: 200 });

  for (const { id, how } of held) expect(await look(id), how).toMatchObject({ status: 'pending', finishedAt: null });
  const late = held.at(-1) as (typeof held)[number];
  const txHash = await facilitator.submit(late.payment);
  expect(await isPaid(late.id)).toMatchObject({ txHash });
  const holding = (await service.client.get('/circle/balance', ada)).body.USDC;
  expect(BigInt(Math.round(Number(holding) * 1e6))).toBe(before - 70_000n);
  expect(await differences()).toEqual([]);

  // Time passes on the chain, and with it every chance to take the others.
  await facilitator.rpc('evm_increaseTime', [holdSeconds + 5]);
  for (const { id, payment, how } of held.slice(0, -1)) {
    expect(await isFinished(id), how).toMatchObject({
      status: 'returned',
      txHash: null,
      error: 'The seller did not take the payment in time.',
    });
    await expect(facilitator.submit(payment)).rejects.toThrow(/authorization is expired/);
  }
  const after = (await service.client.get('/circle/balance', ada)).body.USDC;
  expect(BigInt(Math.round(Number(after) * 1e6))).toBe(before);
  expect((await service.client.get('/nano/purchases?status=returned', ada)).body.purchases).toHaveLength(7);
  const { db } = service.database;
  expect(await differences()).toEqual([]);
  expect((await verifyLedger(db)).problems).toEqual([]);
  const networks = new Map([['MATIC', facilitator.network] as const]);
  expect(await reconcile({ db, networks, sagas: sagasOf(features) })).toEqual([]);
  const { rows } = await db.query('SELECT FROM purchase_requests');
  expect(rows).toEqual([]);
});
