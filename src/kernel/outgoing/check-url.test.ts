import { describe, expect, test } from 'vitest';
import { hostileUrls } from '../../../test/support/hostile-urls.ts';
import { createLoopbackDial } from '../../../test/support/loopback-dial.ts';
import { createOutgoing } from './outgoing.ts';

const rows = Object.entries(hostileUrls).flatMap(([refusal, urls]) =>
  urls.map(([url, why]) => ({ url, why, refusal })),
);

describe('by its form', () => {
  const asked: string[] = [];
  const { dial, dialled } = createLoopbackDial();
  const outgoing = createOutgoing({
    dial,
    allowPrivateHosts: [],
    lookup: async (hostname) => {
      asked.push(hostname);
      return [];
    },
  });

  test('at least 150 hostile URLs are known, each once', () => {
    expect(rows.length).toBeGreaterThanOrEqual(150);
    expect(new Set(rows.map(({ url }) => url)).size).toBe(rows.length);
  });

  test.each(rows.map((row) => ({ ...row, shown: JSON.stringify(row.url).slice(0, 60) })))(
    '$shown is refused: $why',
    async ({ url, refusal }) => {
      expect(outgoing.explainRefusal(url)).toBe(refusal);
      await expect(outgoing.request({ method: 'GET', url })).rejects.toMatchObject({
        name: 'OutgoingError',
        code: 'refused',
        message: refusal,
      });
      expect(asked, 'nobody was asked for the name').toEqual([]);
      expect(dialled).toEqual([]);
    },
  );

  test.each([
    'https://example.com',
    'https://example.com/',
    'HTTPS://Example.COM/Hooks?a=1&b=%20#part',
    'https://example.com:443/hook',
    'https://example.com:8443/hook',
    'https://example.com:80/hook',
    'https://example.com:/hook',
    'https://sub.domain.example.co.uk/a/b/c',
    'https://xn--bcher-kva.example/',
    'https://bücher.example/',
    'https://münchen.de:8443/ä?ö=ü',
    'https://例え.jp/',
    'https://a_b.example.com/',
    'https://1and1.com/',
    'https://123.example.com/',
    'https://local.example.com/',
    'https://internal.example.com/',
    'https://localhost.example.com/',
    'https://my.locals/',
    'https://8.8.8.8/',
    'https://172.32.0.1/',
    'https://100.128.0.1/',
    'https://[2606:4700:4700::1111]/',
    'https://[2a00:1450:4001:82a::200e]:8443/',
    'https://example.com/@user',
    'https://example.com/?to=user@example.com',
    'https://example.com/?next=http://127.0.0.1/',
    'https://example.com/a%0d%0ab',
    `https://example.com/${'a'.repeat(2_000)}`,
  ])('%s is fine', (url) => {
    expect(outgoing.explainRefusal(url)).toBeUndefined();
  });
});

describe('places that the operator has named', () => {
  const { dial, dialled } = createLoopbackDial();
  const outgoing = createOutgoing({
    dial,
    allowPrivateHosts: [
      { host: 'localhost', port: 9000 },
      { host: '127.0.0.1', port: 9001 },
      { host: '[::1]', port: 9002 },
      { host: 'receiver', port: 80 },
      { host: 'shop.internal', port: 8443 },
      { host: '127.0.0.1', port: 5432 },
    ],
    names: new Map([
      ['shop.demo', { host: '127.0.0.1', port: 7000 }],
      ['chain.demo', { host: '127.0.0.1', port: 8545 }],
    ]),
    forbiddenPorts: () => [5432, 8545],
  });

  test.each([
    'http://localhost:9000/hook',
    'https://localhost:9000/hook',
    'http://LOCALHOST:9000/hook',
    'http://127.0.0.1:9001/',
    'http://[::1]:9002/',
    'http://[0:0:0:0:0:0:0:1]:9002/',
    'http://receiver/',
    'http://receiver:80/',
    'https://shop.internal:8443/',
    'http://shop.demo/search?q=1',
    'https://shop.demo/',
  ])('%s is let through', (url) => {
    expect(outgoing.explainRefusal(url)).toBeUndefined();
  });

  test.each([
    ['http://localhost:9001/', 'the port of another'],
    ['http://127.0.0.1:9000/', 'the host of another'],
    ['http://localhost.:9000/', 'a dot too many'],
    ['http://127.1:9001/', 'another spelling'],
    ['http://2130706433:9001/', 'another spelling'],
    ['http://127.0.0.1.:9001/', 'another spelling'],
    ['http://127.0.0.2:9001/', 'another address of this machine'],
    ['http://[::ffff:127.0.0.1]:9001/', 'another family'],
    ['http://[::1]:9001/', 'another family'],
    ['http://127.0.0.1:9002/', 'another family'],
    ['http://localhost/', 'no port'],
    ['http://foo.localhost:9000/', 'a name below it'],
    ['http://localhost.evil.com:9000/', 'a name above it'],
    ['http://xlocalhost:9000/', 'a longer name'],
    ['http://user@localhost:9000/', 'credentials'],
    ['https://receiver/', 'another port'],
    ['http://example.com/', 'not named'],
    ['http://shop.demo:7000/', 'a name of the table with a port of its own'],
    ['http://sub.shop.demo/', 'a name below one of the table'],
    ['http://127.0.0.1:5432/', 'the database, though it is named'],
    ['http://127.0.0.1:8545/', 'a local chain'],
    ['http://chain.demo/', 'a local chain, though the table leads there'],
  ])('%s is not: %s', async (url) => {
    expect(outgoing.explainRefusal(url)).toBeTypeOf('string');
    await expect(outgoing.request({ method: 'GET', url })).rejects.toMatchObject({ code: 'refused' });
    expect(dialled).toEqual([]);
  });

  test('the port of one of our own parts is told like any other', () => {
    for (const start of ['https://example.com', 'http://example.com', 'https://10.0.0.1']) {
      expect(outgoing.explainRefusal(`${start}:5432/`)).toBe(outgoing.explainRefusal(`${start}:5433/`));
    }
  });
});
