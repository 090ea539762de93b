import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestAccount } from '../../../support/client.ts';
import { type Listening, listenHttp } from '../../../support/listening.ts';
import { freePort } from '../../../support/process.ts';
import { useService } from '../../../support/service.ts';

interface Answered {
  readonly path: string;
  readonly userAgent: string;
}

/** A shop that leaves every question open, and one that lets everybody in but robots. */
const silent = { left: 0, asked: 0 };
const slowShop: Listening = await listenHttp((request, response) => {
  if (request.url === '/robots.txt') {
    response.writeHead(404).end();
    return;
  }
  silent.asked++;
  response.on('close', () => {
    silent.left++;
  });
});
const asked: Answered[] = [];
const walledShop: Listening = await listenHttp((request, response) => {
  asked.push({ path: request.url ?? '', userAgent: request.headers['user-agent'] ?? '' });
  if (request.url !== '/robots.txt') response.writeHead(404, { 'content-type': 'text/html' }).end('<p>No.</p>');
  else response.end('User-agent: *\nAllow: /\n\nUser-agent: PaywrightBot\nDisallow: /\n');
});
const closedPort = { port: await freePort() };
const place = ({ port }: Pick<Listening, 'port'>) => `127.0.0.1:${port}`;

const service = useService({
  env: {
    ALLOW_PRIVATE_HOSTS: [slowShop, walledShop, closedPort].map(place).join(','),
  },
  // The service remembers the quickest of several ways, and one of them leaves out products that cost euros.
  settings: { sandbox: { ways: ['ucp'] } },
});
afterAll(() => Promise.all([slowShop.close(), walledShop.close()]));

let ada: TestAccount;
beforeAll(async () => {
  ada = await service.client.register();
});

const search = (website: string, query = 'mug') => service.client.post('/shopping/search', { website, query }, ada.key);
const streamUrl = (website: string, q = 'mug') =>
  `${service.url}/api/shopping/search/stream?${new URLSearchParams({ q, website })}`;
const stream = async (website: string, q = 'mug') => {
  const reply = await fetch(streamUrl(website, q), {
    headers: { authorization: `Bearer ${ada.key}`, accept: 'text/event-stream' },
  });
  return { reply, events: readEvents(await reply.text()) };
};

function readEvents(text: string) {
  return [...text.matchAll(/event: (\w+)\ndata: (.*)\n\n/g)].map(([, event, data]) => ({
    event,
    data: JSON.parse(data ?? ''),
  }));
}

const product = {
  title: expect.any(String),
  brand: expect.any(String),
  price: expect.stringMatching(/^\$\d+\.\d\d$/),
  priceNum: expect.any(Number),
  url: expect.stringMatching(/^http:\/\/demo-shop\.example\/products\//),
};

describe('a search', () => {
  test('of the demo shop finds mugs, with exactly the declared fields', async () => {
    const { body: sandbox } = await service.client.get('/sandbox');
    const { status, body } = await search(sandbox.demoShop.domain);
    expect(status).toBe(200);
    expect(body.products.length).toBeGreaterThanOrEqual(3);
    expect(body.products.length).toBeLessThanOrEqual(4);
    expect(body.products).toEqual(body.products.map(() => product));
    expect(body.products).toContainEqual({
      title: 'Stoneware Mug, Sea',
      brand: 'Alder Pottery',
      price: '$24.00',
      priceNum: 24,
      url: 'http://demo-shop.example/products/stoneware-mug-sea',
    });
    for (const { title } of body.products) expect(title).toContain('Mug');
    expect(body.previewUrl).toMatch(new RegExp(`^${service.url}/shopping/preview/[0-9A-Za-z]{24}$`));
  });

  test('takes the domain in any usual spelling, and keeps the currency of the shop', async () => {
    for (const website of [
      ' https://DEMO-shop.example/shelf?x=1 ',
      'HTTP://demo-shop.example',
      '//demo-shop.example',
    ]) {
      expect([website, (await search(website)).body.products.length]).toEqual([website, 4]);
    }
    const { body } = await search('demo-shop.example', 'postcard from lisbon');
    expect(body.products[0]).toMatchObject({ title: 'Postcard from Lisbon', price: '€4.50', priceNum: 4.5 });
  });

  test('of the shop that takes no orders works as well, and nothing found is an empty list', async () => {
    const { body: sandbox } = await service.client.get('/sandbox');
    const { body } = await search(sandbox.closedShop.domain, 'notebook');
    expect(body.products.map(({ title }: { title: string }) => title).sort()).toEqual([
      'Pocket Notebook',
      'Squared Notebook, Large',
    ]);
    const nothing = await search('demo-shop.example', 'xylophone');
    expect(nothing).toMatchObject({ status: 200, body: { products: [] } });
    expect((await fetch(nothing.body.previewUrl)).status).toBe(200);
  });

  test('needs a key, and says what is wrong with what it is given', async () => {
    expect((await service.client.post('/shopping/search', { website: 'demo-shop.example', query: 'mug' })).status).toBe(
      401,
    );
    expect((await fetch(streamUrl('demo-shop.example'))).status).toBe(401);
    const bad = [
      { query: 'mug' },
      { website: 'demo-shop.example' },
      { website: 'demo-shop.example', query: '' },
      { website: 'demo-shop.example', query: ' \u200b ' },
      { website: 'demo-shop.example', query: 'x'.repeat(201) },
      { website: 'demo-shop.example', query: 'mug', more: 1 },
      { website: 7, query: 'mug' },
      { website: 'x'.repeat(400), query: 'mug' },
    ];
    for (const body of bad) expect((await service.client.post('/shopping/search', body, ada.key)).status).toBe(400);
  });

  test.each([
    'localhost',
    '127.0.0.1',
    '169.254.169.254',
    '[::1]',
    'metadata.google.internal',
    '127.0.0.1:1',
    'demo-shop.example:8443',
    'user@demo-shop.example',
    'ftp://demo-shop.example',
    'javascript:alert(1)',
  ])('is refused by the guard: %s', async (website) => {
    expect(await search(website)).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', errors: [{ path: 'website' }] },
    });
    const { reply, events } = await stream(website);
    expect([reply.status, events]).toEqual([400, []]);
  });

  test('of nobody is told as such', async () => {
    expect(await search(place(closedPort))).toMatchObject({ status: 502, body: { code: 'merchant_unreachable' } });
    const { events } = await stream(place(closedPort));
    expect(events).toEqual([
      { event: 'error', data: expect.objectContaining({ code: 'merchant_unreachable', status: 502 }) },
    ]);
  });

  test('respects a robots.txt that names us, and says who we are', async () => {
    const { status, body } = await search(place(walledShop));
    expect([status, body.code]).toEqual([422, 'merchant_unsupported']);
    expect(body.detail).toContain('robots.txt');
    await search(place(walledShop), 'another thing');
    expect(asked).toEqual([{ path: '/robots.txt', userAgent: `PaywrightBot/1.0 (+${service.url}/bot)` }]);
    expect(await (await fetch(`${service.url}/bot`)).text()).toContain('User-agent: PaywrightBot');
  });

  test('ends within eight seconds, and says that it was too slow', { tags: ['matrix'] }, async () => {
    const { status, body } = await search(place(slowShop));
    expect([status, body.code]).toEqual([504, 'merchant_unreachable']);
    await expect.poll(() => silent.asked === silent.left).toBe(true);
  });
});

describe('a stream', () => {
  test('tells of each product, and then that it is done', async () => {
    const { reply, events } = await stream('demo-shop.example', 'stoneware');
    expect(reply.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(events.map(({ event }) => event)).toEqual([...events.slice(1).map(() => 'result'), 'done']);
    for (const { data } of events.slice(0, -1)) expect(data).toEqual(product);
    expect(events.at(-1)?.data).toEqual({
      count: events.length - 1,
      previewUrl: expect.stringContaining(`${service.url}/shopping/preview/`),
    });
  });

  test('ends its work at the shop when the client leaves', async () => {
    const before = { ...silent };
    const url = new URL(streamUrl(place(slowShop), 'left alone'));
    const socket = connect(Number(url.port), url.hostname);
    socket.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ada.key}\r\n\r\n`);
    await expect.poll(() => silent.asked).toBeGreaterThan(before.asked);
    expect(silent.left).toBe(before.left);
    socket.destroy();
    await expect.poll(() => silent.asked === silent.left).toBe(true);
  });
});

describe('the shops of the sandbox', () => {
  test('are named by the sandbox, and open in a browser', async () => {
    const { body } = await service.client.get('/sandbox');
    expect(body.demoShop).toEqual({
      domain: 'demo-shop.example',
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      merchantKey: expect.stringMatching(/^pa_live_/),
    });
    expect(body.closedShop.domain).toBe('closed-shop.example');
    for (const { url } of [body.demoShop, body.closedShop]) {
      const reply = await fetch(url);
      expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    }
    expect((await fetch(`${body.demoShop.url}/nowhere`)).status).toBe(404);
  });
});

test('our UCP profile is where shops are told to look', async () => {
  const read = async (url: string) =>
    (await (await fetch(url)).json()) as { ucp: { version: string; supported_versions: Record<string, string> } };
  const newest = await read(`${service.url}/.well-known/ucp`);
  expect(newest.ucp).toMatchObject({ version: '2026-08-25', payment_handlers: {} });
  const older = await read(newest.ucp.supported_versions['2026-04-08'] ?? '');
  expect(older.ucp.version).toBe('2026-04-08');
});
