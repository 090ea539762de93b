import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import type { OpenApiDocument } from '../kernel/http/openapi.ts';
import { addPages } from './pages.ts';

const document: OpenApiDocument = {
  openapi: '3.1.0',
  info: { title: 'Paywright', version: '3.0.0', description: 'Payments.' },
  servers: [{ url: 'https://pay.example/base/api' }],
  tags: [],
  paths: {},
};

function start(mode: 'sandbox' | 'live' = 'sandbox', failing: readonly string[] = [], away: readonly string[] = []) {
  const app = Fastify();
  let asked = 0;
  addPages(app, {
    mode,
    readiness: async () => [
      { name: 'jobs', passed: !failing.includes('jobs'), away: [] },
      { name: 'chains', passed: true, away },
    ],
    document: () => {
      asked++;
      return document;
    },
  });
  return { app, asked: () => asked };
}

describe.each(['/', '/docs'])('%s', (url) => {
  it('is a page that may load from its own origin alone, and nothing inline', async () => {
    const { statusCode, headers, body } = await start().app.inject({ url });
    expect(statusCode).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-security-policy']).toContain("default-src 'none'; style-src 'self'; script-src 'self'");
    expect(headers['content-security-policy']).not.toContain('unsafe');
    expect(body).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  });

  it('is rendered on the first request and kept', async () => {
    const { app, asked } = start();
    await app.ready();
    expect(asked()).toBe(0);
    const first = await app.inject({ url });
    const askedOnce = asked();
    expect((await app.inject({ url })).body).toBe(first.body);
    expect(asked()).toBe(askedOnce);
  });

  it('answers HEAD with the same headers and no body', async () => {
    const { app } = start();
    const get = await app.inject({ url });
    const head = await app.inject({ method: 'HEAD', url });
    expect(head.statusCode).toBe(200);
    expect(head.body).toBe('');
    expect(head.headers['content-length']).toBe(get.headers['content-length']);
    expect(head.headers['etag']).toBe(get.headers['etag']);
  });

  it('is not sent again to a browser that has it', async () => {
    const { app } = start();
    const etag = String((await app.inject({ url })).headers['etag']);
    const again = await app.inject({ url, headers: { 'if-none-match': `"other", ${etag}` } });
    expect([again.statusCode, again.body]).toEqual([304, '']);
    expect((await app.inject({ url, headers: { 'if-none-match': '"other"' } })).statusCode).toBe(200);
  });

  it('is compressed for those who take it so', async () => {
    const { app } = start();
    const plain = await app.inject({ url, headers: { 'accept-encoding': 'br;q=0.0, gzip; q=0, zstd' } });
    expect(plain.headers['content-encoding']).toBeUndefined();
    const small = await app.inject({ url, headers: { 'accept-encoding': 'br;q=0, gzip;q=0.5' } });
    expect(small.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(small.rawPayload).toString()).toBe(plain.body);
    const smallest = await app.inject({ url, headers: { 'accept-encoding': 'gzip, deflate, br' } });
    expect(smallest.headers['content-encoding']).toBe('br');
    expect(brotliDecompressSync(smallest.rawPayload).toString()).toBe(plain.body);
  });

  it('says whether the money is real', async () => {
    expect((await start('sandbox').app.inject({ url })).body).toContain('Sandbox');
    expect((await start('live').app.inject({ url })).body).not.toMatch(/sandbox/i);
  });
});

it('the front page says whether the service is ready, and what is in the way', async () => {
  expect((await start('sandbox').app.inject('/')).body).toContain('>Running</p>');
  expect((await start('live', ['jobs']).app.inject('/')).body).toContain('Running, but not ready: jobs');
  expect((await start('live', [], ['BASE', 'OP']).app.inject('/')).body).toContain(
    'Running; not reachable at the moment: BASE, OP',
  );
});

describe('assets', () => {
  it('are linked under the public path and kept for good by browsers', async () => {
    const { app } = start();
    const { body } = await app.inject('/docs');
    const links = [...body.matchAll(/(?:src|href)="\/base(\/assets\/[^"]+)"/g)].map((match) => match[1] ?? '');
    expect(links.length).toBeGreaterThanOrEqual(5);
    for (const link of links) {
      const asset = await app.inject(link);
      expect([link, asset.statusCode]).toEqual([link, 200]);
      expect(asset.headers['cache-control']).toContain('immutable');
    }
  });

  it('of another version are answered with these, and not kept', async () => {
    const asset = await start().app.inject('/assets/000000000000/base.css');
    expect(asset.statusCode).toBe(200);
    expect(asset.headers['content-type']).toBe('text/css; charset=utf-8');
    expect(asset.headers['cache-control']).toBe('no-cache');
  });

  it('that do not exist are not found', async () => {
    expect((await start().app.inject('/assets/000000000000/..%2fhtml.ts')).statusCode).toBe(404);
  });
});
