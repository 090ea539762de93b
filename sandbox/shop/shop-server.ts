import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { SearchWay } from '../../src/app/sandbox-port.ts';
import type { Logger } from '../../src/kernel/log/logger.ts';
import { parseUrl } from '../../src/kernel/text/parse-url.ts';
import { closeServer, listenLocally } from '../local-server.ts';
import { picturePath } from './catalog.ts';
import { answerMcp } from './mcp/answer-mcp.ts';
import { json, type ShopReply } from './message.ts';
import { answerPage, missingPage } from './pages.ts';
import { drawPicture } from './pictures/draw-picture.ts';
import type { Shop, ShopRequest } from './shop.ts';
import {
  before,
  checkoutCapability,
  fulfillmentCapability,
  lookupCapability,
  newest,
  searchCapability,
  type UcpVersion,
} from './ucp-versions.ts';
import { answerShopify } from './ways/shopify.ts';
import { answerUcp } from './ways/ucp.ts';
import { answerWooCommerce } from './ways/woocommerce.ts';

/** The shop's UCP profile. */
async function answerProfile({ shop, origin, url, method }: ShopRequest): Promise<ShopReply | undefined> {
  if (method !== 'GET' || (shop.checkout === undefined && !shop.ways.includes('ucp'))) return undefined;
  const version = ({ '/.well-known/ucp': newest, [`/.well-known/ucp/${before}`]: before } as const)[url.pathname];
  if (version === undefined) return undefined;
  const keys = shop.checkout && [await shop.checkout.publicKey()];
  const profile = {
    ucp: {
      version,
      ...(version === newest && { supported_versions: { [before]: `${origin}/.well-known/ucp/${before}` } }),
      services: services(origin, version),
      capabilities: capabilities(shop, version),
      payment_handlers: shop.checkout?.paymentHandlers() ?? {},
    },
    // The two versions use different names for the same keys.
    ...(keys !== undefined && { keys, signing_keys: keys }),
  };
  return json(profile, { headers: { 'Cache-Control': 'public, max-age=300' } });
}

const pageOf = (version: UcpVersion) => (path: string) => `https://ucp.dev/${version}/${path}`;

function services(origin: string, version: UcpVersion): object {
  const page = pageOf(version);
  const service = { version, spec: page('specification/overview') };
  const endpoint = `${origin}/ucp/${version}`;
  return {
    'dev.ucp.shopping': [
      { ...service, transport: 'rest', endpoint, schema: page('services/shopping/rest.openapi.json') },
      { ...service, transport: 'mcp', endpoint: `${endpoint}/mcp`, schema: page('services/shopping/mcp.openrpc.json') },
    ],
  };
}

function capabilities({ ways, checkout }: Shop, version: UcpVersion): object {
  const page = pageOf(version);
  const entry = (name: string) => ({
    version,
    spec: page(`specification/${name}`),
    schema: page(`schemas/shopping/${name.replace('/', '_')}.json`),
  });
  return {
    ...(checkout !== undefined && {
      [checkoutCapability]: [entry('checkout')],
      [fulfillmentCapability]: [{ ...entry('fulfillment'), extends: checkoutCapability }],
    }),
    ...(ways.includes('ucp') && {
      [searchCapability]: [entry('catalog/search')],
      [lookupCapability]: [entry('catalog/lookup')],
    }),
  };
}

const mostBodyBytes = 64 * 1024;

const searching: Readonly<Record<Exclude<SearchWay, 'json-ld'>, (request: ShopRequest) => ShopReply | undefined>> = {
  ucp: answerUcp,
  shopify: answerShopify,
  woocommerce: answerWooCommerce,
};

const styles = ['../../src/web/assets/base.css', './assets/shop.css']
  .map((path) => readFileSync(new URL(path, import.meta.url), 'utf8'))
  .join('\n');

/** Serves a shop on loopback only. The previous port is used if it is free. */
export async function startShop(shop: Shop, logger: Logger, port = 0) {
  const pictures = new Map<string, Promise<Buffer>>();
  const answering = new Set<Promise<void>>();
  const server = createServer((request, response) => {
    const answered = answer(request)
      .then(
        (reply) => send(response, reply),
        (err: unknown) => {
          logger.error({ err }, 'the demo shop could not answer');
          send(response, { status: 500, type: 'text/plain', body: 'The shop is in disorder.' });
        },
      )
      .finally(() => answering.delete(answered));
    answering.add(answered);
  });

  async function answer(message: IncomingMessage): Promise<ShopReply> {
    const host = message.headers.host ?? shop.domain;
    const origin = parseUrl(`http://${host}`)?.origin ?? `http://${shop.domain}`;
    const target = message.url ?? '';
    const url = parseUrl(target, origin);
    if (url === undefined) return missingPage(shop);
    const bytes = await readBytes(message);
    const { method = 'GET', headers } = message;
    const request = { shop, origin, url, target, method, headers, bytes, body: readJson(bytes) };
    if (url.pathname === '/shop.css') return { status: 200, type: 'text/css; charset=utf-8', body: styles };
    if (url.pathname === '/robots.txt') {
      return { status: 200, type: 'text/plain; charset=utf-8', body: 'User-agent: *\nAllow: /\n' };
    }
    const ordering =
      (await answerProfile(request)) ?? (await answerMcp(request)) ?? (await shop.checkout?.answer(request));
    if (ordering !== undefined) return ordering;
    for (const way of shop.ways) {
      const reply = way === 'json-ld' ? undefined : searching[way](request);
      if (reply !== undefined) return reply;
    }
    return (await picture(url.pathname)) ?? answerPage(request) ?? missingPage(shop);
  }

  /** Pictures are drawn on first use and cached. */
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

  return {
    port: await listenLocally(server, port).catch(() => listenLocally(server, 0)),
    /** Closes all connections and waits for requests in progress. */
    async stop(): Promise<void> {
      await closeServer(server);
      await Promise.all(answering);
    },
  };
}

/** Empty if the body is too long. */
async function readBytes(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= mostBodyBytes) chunks.push(chunk);
  }
  return length > mostBodyBytes ? Buffer.alloc(0) : Buffer.concat(chunks);
}

/** Undefined if the body is not JSON. */
function readJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, { lateMs = 0, ...reply }: ShopReply): void {
  if (lateMs > 0) {
    setTimeout(() => send(response, reply), lateMs).unref();
    return;
  }
  const { status, type, body, headers = {}, oddity } = reply;
  if (oddity === 'held') return;
  response
    .writeHead(status, {
      'Content-Type': type,
      'Content-Length': Buffer.byteLength(body),
      'Content-Security-Policy':
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'",
      'X-Content-Type-Options': 'nosniff',
      // A connection with a surplus response cannot be reused.
      ...(oddity === 'twice' && { Connection: 'close' }),
      ...headers,
    })
    .end(body);
  if (oddity === 'twice') {
    // Written to the socket, because Node does not allow a second response.
    const head = `HTTP/1.1 ${status} OK\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
    response.socket?.write(head + String(body));
  }
}
