import { once } from 'node:events';
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { encodePng } from '../../../sandbox/shop/pictures/draw-picture.ts';
import { createPreview } from '../../../src/shopping/search/preview.ts';
import type { Product } from '../../../src/shopping/search/product.ts';
import type { Client, Reply, TestAccount } from '../../support/client.ts';
import { askForLink } from '../../support/funding.ts';
import { gate } from '../../support/gate.ts';
import { startTestShop } from '../../support/merchant.ts';
import { useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const shop = await startTestShop();
const service = useService({ env: { ALLOW_PRIVATE_HOSTS: shop.website, TRUSTED_PROXIES: '127.0.0.1' } });

let ada: TestAccount;
let grace: TestAccount;
beforeAll(async () => {
  ada = await service.client.register();
  grace = await service.client.register();
});

const problemOf = ({ status, headers, body }: Reply) => [status, body.code, headers.get('retry-after')];

describe('searches', () => {
  /** A shop that has been asked and stays silent until the test is over. */
  function silence(): void {
    const over = gate();
    onTestFinished(over.open);
    shop.answers['/robots.txt'] = (_asked, response) => void over.opened.then(() => response.writeHead(404).end());
  }

  /** Begins one search after the other until one is refused. */
  async function fillShare(client: Client, { key }: TestAccount): Promise<Reply> {
    const refused: Reply[] = [];
    let begun = 0;
    return until('a search to be refused', async () => {
      for (let more = 0; more < 4; more++) {
        const search = { website: shop.website, query: `mug ${++begun}` };
        client.post('/shopping/search', search, key).then(
          (reply) => void ([429, 503].includes(reply.status) && refused.push(reply)),
          () => {},
        );
      }
      return refused[0];
    });
  }

  test('of one account leave room for those of another', async () => {
    silence();
    expect(problemOf(await fillShare(service.client, ada))).toEqual([429, 'rate_limited', '5']);
    const stream = await service.client.get(`/shopping/search/stream?q=mug&website=${shop.website}`, ada.key);
    expect(problemOf(stream)).toEqual([429, 'rate_limited', '5']);
    const search = { website: 'closed-shop.example', query: 'notebook' };
    expect((await service.client.post('/shopping/search', search, grace.key)).status).toBe(200);
  });
});

describe('pictures', () => {
  const photo = encodePng(2, 2, Buffer.alloc(12, 120));
  const sendPhoto = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'image/png' }).end(photo);

  /** A page with ten pictures that no other page has. */
  async function createPage(name: string): Promise<string> {
    const products = Array.from({ length: 10 }, (_, index) => {
      const path = `/${name}-${index}.png`;
      return {
        title: path,
        brand: 'V',
        price: { text: '$5.00' },
        url: `${shop.origin}${path}`,
        picture: { url: `${shop.origin}${path}`, alt: '' },
        variants: [],
        moreVariants: false,
      } as unknown as Product;
    });
    const { db } = service.database;
    return createPreview(db, { website: shop.website, query: name, products, searcher: undefined });
  }

  function look(token: string, address: string): Promise<Response>[] {
    return Array.from({ length: 10 }, (_, place) =>
      fetch(`${service.url}/shopping/preview/${token}/${place}`, { headers: { 'x-forwarded-for': address } }),
    );
  }

  const answerFor = (name: string, answer: (response: ServerResponse) => unknown) => {
    for (let index = 0; index < 10; index++) {
      shop.answers[`/${name}-${index}.png`] = (_asked, response) => answer(response);
    }
  };

  test('that one address waits for leave room for those of another', async () => {
    const names = ['silent-a', 'silent-b', 'silent-c', 'silent-d', 'silent-e'];
    const over = gate();
    onTestFinished(over.open);
    for (const name of names) answerFor(name, (response) => over.opened.then(() => sendPhoto(response)));
    answerFor('lively', sendPhoto);
    const pages = await Promise.all(names.map(createPage));
    const silent = pages.flatMap((page) => look(page, '2001:db8:0:1::1'));
    const first = await Promise.race(silent);
    expect([first.status, first.headers.get('retry-after'), first.headers.get('content-type')]).toEqual([
      429,
      '5',
      'image/svg+xml',
    ]);
    const others = await Promise.all(look(await createPage('lively'), '2001:db8:1:1::1'));
    expect(others.map(({ status }) => status)).toEqual(Array(10).fill(200));
    over.open();
    await Promise.all(silent);
  });

  test('of one page come all, though not all of them at once', async () => {
    let asked = 0;
    const eight = gate();
    answerFor('many', async (response) => {
      if (++asked === 8) eight.open();
      await eight.opened;
      sendPhoto(response);
    });
    const pictures = await Promise.all(look(await createPage('many'), '192.0.2.9'));
    expect(pictures.map(({ status }) => status)).toEqual(Array(10).fill(200));
  });
});

describe('the streams of funding links', () => {
  async function follow(token: string, address: string): Promise<IncomingMessage> {
    const request = get(`${service.url}/buy/events?token=${token}`, {
      agent: false,
      headers: { 'x-forwarded-for': address },
    });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => {}).resume();
    onTestFinished(() => void response.destroy());
    return response;
  }

  const link = async () => (await askForLink(service.client, ada, 25)).token;
  const answerOf = ({ statusCode, headers }: IncomingMessage) => [statusCode, headers['retry-after']];

  async function followOften(token: string, address: string, times: number): Promise<IncomingMessage[]> {
    const streams: IncomingMessage[] = [];
    for (let time = 0; time < times; time++) streams.push(await follow(token, address));
    expect(streams.map(({ statusCode }) => statusCode)).toEqual(Array(times).fill(200));
    return streams;
  }

  test('are eight for one link, and one that ends makes room for the next', async () => {
    const token = await link();
    const streams = await followOften(token, '192.0.2.1', 8);
    expect(answerOf(await follow(token, '192.0.2.1'))).toEqual([429, '5']);
    expect(answerOf(await follow(token, '192.0.2.2'))).toEqual([429, '5']);
    await followOften(await link(), '192.0.2.1', 1);
    streams[0]?.destroy();
    await until('a place to be free', async () => (await follow(token, '192.0.2.2')).statusCode === 200);
  });

  test('are 32 for one address, which in IPv6 is a /64, while another can open its own', async () => {
    for (let page = 0; page < 4; page++) await followOften(await link(), `2001:db8::${page}`, 8);
    const token = await link();
    expect(answerOf(await follow(token, '2001:db8::ffff'))).toEqual([429, '5']);
    await followOften(token, '2001:db8:0:1::1', 1);
    // The page itself is there all the same.
    const page = await fetch(`${service.url}/buy?token=${token}`, { headers: { 'x-forwarded-for': '2001:db8::ffff' } });
    expect(page.status).toBe(200);
  });
});
