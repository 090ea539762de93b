import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '../../logger.ts';
import { parseUrl } from '../../parse-url.ts';
import { answerPage, missingPage } from './pages.ts';
import { drawPicture } from './pictures/draw-picture.ts';
import { picturePath, type SearchWay, type Shop, type ShopReply, type ShopRequest } from './shop.ts';
import { answerShopify } from './ways/shopify.ts';
import { answerUcp } from './ways/ucp.ts';
import { answerWooCommerce } from './ways/woocommerce.ts';

export interface ShopServer {
  readonly port: number;
  stop(): Promise<void>;
}

const mostBodyBytes = 64 * 1024;

const answering: Readonly<Record<Exclude<SearchWay, 'json-ld'>, (request: ShopRequest) => ShopReply | undefined>> = {
  ucp: answerUcp,
  shopify: answerShopify,
  woocommerce: answerWooCommerce,
};

const styles = ['../../web/assets/base.css', './assets/shop.css']
  .map((path) => readFileSync(new URL(path, import.meta.url), 'utf8'))
  .join('\n');

/** Serves a shop on this machine only, on any free port. */
export async function startShop(shop: Shop, logger: Logger): Promise<ShopServer> {
  const pictures = new Map<string, Promise<Buffer>>();
  const server = createServer((request, response) => {
    answer(request).then(
      (reply) => send(response, reply),
      (err: unknown) => {
        logger.error({ err }, 'the demo shop could not answer');
        send(response, { status: 500, type: 'text/plain', body: 'The shop is in disorder.' });
      },
    );
  });

  async function answer(message: IncomingMessage): Promise<ShopReply> {
    const host = message.headers.host ?? shop.domain;
    const origin = parseUrl(`http://${host}`)?.origin ?? `http://${shop.domain}`;
    if (parseUrl(message.url ?? '', origin) === undefined) return missingPage(shop);
    const url = new URL(message.url ?? '', origin);
    const request = { shop, origin, url, method: message.method ?? 'GET', body: await readJson(message) };
    if (url.pathname === '/shop.css') return { status: 200, type: 'text/css; charset=utf-8', body: styles };
    if (url.pathname === '/robots.txt') {
      return { status: 200, type: 'text/plain; charset=utf-8', body: 'User-agent: *\nAllow: /\n' };
    }
    for (const way of shop.ways) {
      const reply = way === 'json-ld' ? undefined : answering[way](request);
      if (reply !== undefined) return reply;
    }
    return (await picture(url.pathname)) ?? answerPage(request) ?? missingPage(shop);
  }

  /** Drawn when it is first looked at, and kept. */
  async function picture(pathname: string): Promise<ShopReply | undefined> {
    const product = shop.products.find((one) => picturePath(one) === pathname);
    if (product === undefined) return undefined;
    const drawing = pictures.get(pathname) ?? drawPicture(product.drawing);
    pictures.set(pathname, drawing);
    return {
      status: 200,
      type: 'image/png',
      body: await drawing,
      headers: { 'Cache-Control': 'public, max-age=3600' },
    };
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port: 0 }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Undefined when there is none, when it is too long, or when it is not JSON. */
async function readJson(message: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= mostBodyBytes) chunks.push(chunk);
  }
  try {
    return bytes > mostBodyBytes ? undefined : JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, { status, type, body, headers = {} }: ShopReply): void {
  response
    .writeHead(status, {
      'Content-Type': type,
      'Content-Security-Policy':
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'",
      'X-Content-Type-Options': 'nosniff',
      ...headers,
    })
    .end(body);
}
