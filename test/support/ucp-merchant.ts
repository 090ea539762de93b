import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, afterEach } from 'vitest';
import { signRequest } from '../../src/kernel/signing/sign-request.ts';
import { createSigningKey } from '../../src/kernel/signing/signing-key.ts';
import { listenHttp } from './listening.ts';

type Json = Record<string, unknown>;

export interface MerchantSession {
  readonly id: string;
  status: string;
  currency: string;
  totals: Json[];
  line_items?: Json[];
  messages: Json[];
  fulfillment?: unknown;
  order?: { id: string; permalink_url: string };
  continue_url?: string;
}

/** What a request to the merchant was. */
export interface MerchantCall {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Json;
  /** The body as it came. */
  readonly text: string;
}

type Reply = { readonly status: number; readonly body: unknown; readonly text?: string } | 'garbage';
type Hook = (session: MerchantSession, call: MerchantCall) => Promise<Reply> | Reply;

/**
 * A shop that somebody else has built: it speaks the protocol, redeems what it is paid with, and a test may have it misbehave at
 * any call. Await it at the top of the file, and tell it where the service is once it runs.
 */
export async function startUcpMerchant({
  version = '2026-08-25',
  listed = true,
  ships = true,
}: {
  readonly version?: string;
  /** Whether its profile lists our way of paying. */
  readonly listed?: boolean;
  /** Whether its checkout takes an address. */
  readonly ships?: boolean;
} = {}) {
  const key = createSigningKey();
  const sessions = new Map<string, MerchantSession>();
  const calls: MerchantCall[] = [];
  let serviceUrl = () => '';
  const shop = {
    website: '',
    origin: '',
    sessions,
    calls,
    version,
    price: 2400,
    currency: 'USD',
    shipping: 0,
    listed,
    title: 'Blue Kettle',
    /** In what it is sold, if there is a choice. */
    variants: [] as readonly { readonly id: string; readonly size: string; readonly price: number }[],
    /** By path: what it answers there instead. */
    files: {} as Record<string, Reply | ((call: MerchantCall) => Promise<Reply> | Reply)>,
    hooks: {} as Partial<Record<'create' | 'update' | 'complete' | 'look' | 'cancel', Hook>>,
    connect: (url: () => string) => {
      serviceUrl = url;
    },
    redeem,
    key,
  };
  const usual = usualAnswers(redeem);

  const server = await listenHttp((message, response) => {
    const chunks: Buffer[] = [];
    message.on('data', (chunk: Buffer) => chunks.push(chunk));
    message.on('end', () => {
      const { pathname } = new URL(message.url ?? '', 'http://shop.test');
      const text = Buffer.concat(chunks).toString();
      const call = {
        method: message.method ?? '',
        path: pathname,
        headers: message.headers,
        body: text === '' ? {} : JSON.parse(text),
        text,
      };
      calls.push(call);
      void answer(call).then((reply) => send(response, reply));
    });
  });
  shop.website = `127.0.0.1:${server.port}`;
  shop.origin = `http://${shop.website}`;
  const initial = { version: shop.version, price: shop.price, currency: shop.currency, shipping: 0, listed };
  afterEach(() => {
    Object.assign(shop, initial, { hooks: {}, files: {}, title: 'Blue Kettle', variants: [] });
    calls.length = 0;
  });
  afterAll(() => server.close());

  async function answer(call: MerchantCall): Promise<Reply> {
    const file = shop.files[call.path];
    if (file !== undefined) return typeof file === 'function' ? file(call) : file;
    if (call.path === '/.well-known/ucp') return { status: 200, body: profile() };
    if (call.path === '/robots.txt') return { status: 404, body: '' };
    if (call.path.endsWith('/catalog/search')) return { status: 200, body: catalog() };
    const [, id, verb] = /^\/ucp\/checkout-sessions(?:\/([^/]+))?(?:\/(\w+))?$/.exec(call.path) ?? [];
    const name = nameOf(call.method, id, verb);
    if (name === undefined) return { status: 404, body: { code: 'not_found', content: 'nothing here' } };
    const session = id === undefined ? create(call) : sessions.get(id);
    if (session === undefined) return { status: 404, body: { code: 'not_found', content: 'no such checkout' } };
    return (shop.hooks[name] ?? usual[name])(session, call);
  }

  function create({ body }: MerchantCall): MerchantSession {
    const [line] = (body['line_items'] ?? []) as { item: { id: string }; quantity: number }[];
    const itemId = line?.item.id ?? '';
    const quantity = line?.quantity ?? 1;
    const price = shop.variants.find(({ id }) => id === itemId)?.price ?? shop.price;
    const session = {
      id: `chk_${randomUUID()}`,
      status: 'incomplete',
      currency: shop.currency,
      totals: totalsOf(price * quantity, shop.shipping),
      line_items: [{ id: 'li_1', item: { id: itemId, title: shop.title, price }, quantity, totals: [] }],
      messages: [],
    };
    sessions.set(session.id, session);
    return session;
  }

  /** Redeems what a completion was paid with, as the handler's specification says. */
  async function redeem(
    session: MerchantSession,
    { body }: MerchantCall,
    changed: { amount?: number; currency?: string; checkout_id?: string; key?: string; token?: string } = {},
  ): Promise<{ status: number; body: Json }> {
    const [instrument] = (body['payment'] as { instruments: { credential: { token: string } }[] }).instruments;
    const url = `${serviceUrl()}/api/shopping/credentials/redeem`;
    const content = JSON.stringify({
      token: changed.token ?? instrument?.credential.token,
      checkout_id: changed.checkout_id ?? session.id,
      amount: changed.amount ?? Number(session.totals.find(({ type }) => type === 'total')?.['amount']),
      currency: changed.currency ?? session.currency,
    });
    const headers = {
      'content-type': 'application/json',
      'ucp-agent': `profile="${shop.origin}/.well-known/ucp"`,
      'idempotency-key': changed.key ?? `redeem-${session.id}`,
    };
    const signature = signRequest({ method: 'POST', url, headers, body: content }, key);
    const answered = await fetch(url, { method: 'POST', headers: { ...headers, ...signature }, body: content });
    return { status: answered.status, body: (await answered.json()) as Json };
  }

  function profile() {
    const { version } = shop;
    return {
      ucp: {
        version,
        services: { 'dev.ucp.shopping': [{ version, transport: 'rest', endpoint: `${shop.origin}/ucp` }] },
        capabilities: {
          'dev.ucp.shopping.catalog.search': [{ version }],
          'dev.ucp.shopping.checkout': [{ version }],
          ...(ships && { 'dev.ucp.shopping.fulfillment': [{ version, extends: 'dev.ucp.shopping.checkout' }] }),
        },
        payment_handlers: shop.listed
          ? { 'localhost.paywright': [{ id: 'pw', version: '2026-11-15', config: { business: shop.website } }] }
          : {},
      },
      keys: [key.publicJwk],
    };
  }

  function catalog() {
    const price = { amount: shop.price, currency: shop.currency };
    return {
      ucp: { version: shop.version, status: 'success' },
      products: [
        {
          id: 'p1',
          title: shop.title,
          description: { plain: 'Boils.' },
          url: `${shop.origin}/products/kettle`,
          price_range: { min: price, max: price },
          variants:
            shop.variants.length === 0
              ? [{ id: 'v1', title: shop.title, price, availability: { available: true } }]
              : shop.variants.map(({ id, size, price: amount }) => ({
                  id,
                  title: size,
                  price: { ...price, amount },
                  options: [{ name: 'Size', label: size }],
                })),
          metadata: { brand: 'Hob' },
        },
      ],
      pagination: { has_next_page: false },
    };
  }

  return shop;
}

export type UcpMerchant = Awaited<ReturnType<typeof startUcpMerchant>>;

export function totalsOf(subtotal: number, shipping = 0): Json[] {
  return [
    { type: 'subtotal', amount: subtotal },
    { type: 'fulfillment', amount: shipping },
    { type: 'total', amount: subtotal + shipping },
  ];
}

function nameOf(method: string, id: string | undefined, verb: string | undefined) {
  if (id === undefined) return method === 'POST' ? 'create' : undefined;
  if (verb === undefined) return method === 'GET' ? 'look' : method === 'PUT' ? 'update' : undefined;
  return method === 'POST' && (verb === 'complete' || verb === 'cancel') ? verb : undefined;
}

export function describeSession(session: MerchantSession): Json {
  return {
    ucp: { version: '2026-08-25', status: 'success', payment_handlers: {} },
    line_items: [{ id: 'li_1', item: { id: 'v1', title: 'Blue Kettle', price: 2400 }, quantity: 1, totals: [] }],
    links: [],
    ...session,
  };
}

/** What an honest shop does. */
const usualAnswers = (
  redeem: UcpMerchant['redeem'],
): Record<'create' | 'update' | 'complete' | 'look' | 'cancel', Hook> => ({
  create: (session: MerchantSession) => ({ status: 201, body: describeSession(session) }),
  update: (session: MerchantSession, { body }: MerchantCall) => {
    session.fulfillment = body['fulfillment'];
    session.status = 'ready_for_complete';
    return { status: 200, body: describeSession(session) };
  },
  complete: async (session: MerchantSession, call: MerchantCall): Promise<Reply> => {
    const { status } = await redeem(session, call);
    return status === 200 ? complete(session) : refuse(session, 'payment_failed', 'The payment did not pass.');
  },
  look: (session: MerchantSession) => ({ status: 200, body: describeSession(session) }),
  cancel: (session: MerchantSession) => {
    if (session.status !== 'completed') session.status = 'canceled';
    return { status: 200, body: describeSession(session) };
  },
});

export function complete(session: MerchantSession): Reply {
  session.status = 'completed';
  session.order = { id: `K-${session.id.slice(-4)}`, permalink_url: 'https://shop.example/orders/1' };
  return { status: 200, body: describeSession(session) };
}

export function refuse(session: MerchantSession, code: string, content: string): Reply {
  session.status = 'ready_for_complete';
  session.messages = [{ type: 'error', code, content, severity: 'recoverable' }];
  return { status: 200, body: describeSession(session) };
}

function send(response: ServerResponse, reply: Reply): void {
  if (reply === 'garbage') {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"id": "chk');
    return;
  }
  const type = reply.text === undefined ? 'application/json' : 'text/plain';
  response.writeHead(reply.status, { 'content-type': type }).end(reply.text ?? JSON.stringify(reply.body));
}
