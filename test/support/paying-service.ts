import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { signRequest } from '../../src/kernel/signing/sign-request.ts';
import { createSigningKey } from '../../src/kernel/signing/signing-key.ts';
import { verifyRequest } from '../../src/kernel/signing/verify-request.ts';
import { listenHttp } from './listening.ts';

/** A redemption as it was asked for. */
export interface AskedRedemption {
  readonly key: string;
  readonly verified: boolean;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface PayingServiceOptions {
  /** Where the shop is, whose key has to have signed. */
  readonly shopUrl: () => string;
}

type Reply = { readonly status: number; readonly body: unknown } | 'silence' | 'hang up';

export type UcpVersion = '2026-04-08' | '2026-08-25';

/** What stands in for Paywright where a shop is tried: an agent with a profile, and an issuer of credentials that pays. */
export async function startPayingService({ shopUrl }: PayingServiceOptions) {
  const key = createSigningKey();
  const asked: AskedRedemption[] = [];
  const answered = new Map<string, { status: number; body: object }>();
  let respond: ((redemption: AskedRedemption) => Reply) | undefined;
  let capabilities = ['dev.ucp.shopping.checkout', 'dev.ucp.shopping.fulfillment'];

  function profile(url: string, version: UcpVersion) {
    return {
      ucp: {
        version,
        ...(version === '2026-08-25' && { supported_versions: { '2026-04-08': `${url}/.well-known/ucp/2026-04-08` } }),
        services: {},
        capabilities: Object.fromEntries(capabilities.map((name) => [name, [{ version }]])),
        payment_handlers: {},
      },
      ...(version === '2026-08-25' ? { keys: [key.publicJwk] } : { signing_keys: [key.publicJwk] }),
    };
  }

  const server = await listenHttp((request, response) => {
    void answer(request).then((reply) => {
      if (reply === 'silence') return;
      if (reply === 'hang up') request.socket.destroy();
      else response.writeHead(reply.status).end(JSON.stringify(reply.body));
    });
  });
  const url = `http://127.0.0.1:${server.port}`;

  async function answer(request: IncomingMessage): Promise<Reply> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    if (request.url === '/.well-known/ucp') return { status: 200, body: profile(url, '2026-08-25') };
    if (request.url === '/.well-known/ucp/2026-04-08') return { status: 200, body: profile(url, '2026-04-08') };
    if (request.url !== '/api/shopping/credentials/redeem') return { status: 404, body: {} };
    const shop = (await (await fetch(`${shopUrl()}/.well-known/ucp`)).json()) as { keys: unknown[] };
    const body = Buffer.concat(chunks);
    const { method = '', headers } = request;
    const verified = await verifyRequest(
      { method, target: request.url, headers, body },
      {
        keys: shop.keys,
        authorities: [new URL(url).host],
        now: Date.now(),
        maxAgeMs: 60_000,
        requires: ['ucp-agent', 'idempotency-key'],
      },
    );
    const redemption = {
      key: String(headers['idempotency-key']),
      verified: verified.ok && headers['ucp-agent'] === 'profile="http://demo-shop.example/.well-known/ucp"',
      body: JSON.parse(body.toString('utf8')),
    };
    asked.push(redemption);
    return respond?.(redemption) ?? pay(redemption);
  }

  /** The same key is paid once, and answered the same again. */
  function pay({ key: idempotencyKey, body }: AskedRedemption) {
    const { token, ...rest } = body;
    const orderId = `ord_${createHash('sha256').update(String(token)).digest('hex').slice(0, 12)}`;
    const reply = answered.get(idempotencyKey) ?? {
      status: 200,
      body: { status: 'redeemed', order_id: orderId, ...rest },
    };
    answered.set(idempotencyKey, reply);
    return reply;
  }

  return {
    url,
    key,
    asked,
    pay,
    /** What it answers to redemptions; without one it pays. */
    answerWith(other?: typeof respond) {
      respond = other;
    },
    offer(names: string[]) {
      capabilities = names;
    },
    /** Headers of a signed request by this agent. */
    sign(request: {
      method: string;
      url: string;
      headers?: Record<string, string>;
      body?: string;
    }): Record<string, string> {
      const headers = {
        'UCP-Agent': `profile="${url}/.well-known/ucp"`,
        ...(request.body !== undefined && { 'Content-Type': 'application/json' }),
        ...request.headers,
      };
      return { ...headers, ...signRequest({ ...request, headers }, key) };
    },
    close: () => server.close(),
  };
}

export type PayingService = Awaited<ReturnType<typeof startPayingService>>;
