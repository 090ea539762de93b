import { afterAll, describe, expect, it } from 'vitest';
import { createOutgoing } from '../../kernel/outgoing/outgoing.ts';
import { isWithinSite, readWebsite } from './website.ts';

const outgoing = createOutgoing({
  allowPrivateHosts: [
    { host: '127.0.0.1', port: 9000 },
    { host: 'my-shop.test', port: 8443 },
  ],
  names: new Map([['demo-shop.example', { host: '127.0.0.1', port: 4_000 }]]),
});
afterAll(() => outgoing.close());
const read = (text: string) => {
  const { refusal, ...website } = readWebsite(text, outgoing) as { refusal?: string };
  return refusal === undefined ? website : 'refused';
};

describe('a website', () => {
  it.each([
    ['shop.example.com', 'https://shop.example.com', 'shop.example.com'],
    ['example.com', 'https://example.com', 'example.com'],
    ['  https://Example.COM/collections/all?x=1#top  ', 'https://example.com', 'example.com'],
    ['http://www.example.com', 'https://www.example.com', 'example.com'],
    ['WWW.EXAMPLE.COM', 'https://www.example.com', 'example.com'],
    ['//example.com/', 'https://example.com', 'example.com'],
    ['example.com.', 'https://example.com', 'example.com'],
    ['https://example.com:443/x', 'https://example.com', 'example.com'],
    ['http://example.com:80', 'https://example.com', 'example.com'],
    ['bücher.example', 'https://xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example/ä ö', 'https://xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'https://xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['demo-shop.example', 'http://demo-shop.example', 'demo-shop.example'],
    ['https://demo-shop.example/mugs', 'http://demo-shop.example', 'demo-shop.example'],
    ['127.0.0.1:9000', 'http://127.0.0.1:9000', '127.0.0.1:9000'],
    ['http://127.0.0.1:9000/shop', 'http://127.0.0.1:9000', '127.0.0.1:9000'],
    ['https://my-shop.test:8443', 'https://my-shop.test:8443', 'my-shop.test:8443'],
    ['my-shop.test:8443', 'http://my-shop.test:8443', 'my-shop.test:8443'],
  ])('%s', (text, origin, name) => {
    expect(read(text)).toEqual({ origin, name });
  });

  it.each([
    '',
    ' ',
    'shop',
    'localhost',
    '127.0.0.1',
    '10.0.0.1',
    '[::1]',
    '1.1.1.1',
    '0x7f.1',
    '2130706433',
    '127.0.0.1:9001',
    'localhost:9000',
    '127.1:9000',
    'example.com:8443',
    'example.com:22',
    'example.com:0',
    'example.com:99999',
    'user:secret@example.com',
    'https://example.com@127.0.0.1:9000',
    '127.0.0.1:9000@example.com',
    'https://example.com\\@evil.example',
    'ftp://example.com',
    'javascript://example.com/%0aalert(1)',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'exa mple.com',
    'example.com\u202e',
    'example\u200b.com',
    'ⓛocalhost',
    '127。0。0。1',
    'metadata.internal',
    'shop.local',
    'x'.repeat(300),
    'a..example.com',
    'https://',
  ])('is none: %j', (text) => {
    expect(read(text)).toBe('refused');
  });

  it('has parts of its own, and others', () => {
    const site = { origin: 'https://www.example.com', name: 'example.com' };
    const within = (url: string) => isWithinSite(site, new URL(url));
    expect(['https://example.com/', 'https://www.example.com/x', 'https://shop.example.com/'].map(within)).toEqual([
      true,
      true,
      true,
    ]);
    const others = [
      'https://example.org/',
      'https://notexample.com/',
      'https://example.com.evil.example/',
      'https://example.com:8443/',
      'https://127.0.0.1/',
    ];
    expect(others.map(within)).toEqual(others.map(() => false));
    const place = { origin: 'http://127.0.0.1:9000', name: '127.0.0.1:9000' };
    expect(isWithinSite(place, new URL('http://127.0.0.1:9000/x'))).toBe(true);
    expect(isWithinSite(place, new URL('http://127.0.0.1:9001/x'))).toBe(false);
  });
});
