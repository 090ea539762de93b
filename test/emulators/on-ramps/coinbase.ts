import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, verify } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';

/** A session as Coinbase was asked for it. */
interface AskedSession {
  readonly body: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface CoinbaseEmulator {
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  readonly sessions: AskedSession[];
  /** Every address and body that reached it. */
  readonly heard: string[];
  /** What it answers instead of a session. */
  failWith: { readonly status: number; readonly body: string } | undefined;
  /** The headers of a notice, signed now or whenever it says. */
  sign(body: string, options?: { readonly atMs?: number; readonly secret?: string }): Record<string, string>;
}

const keyId = randomUUID();
const webhookSecret = randomUUID();

/** Coinbase Onramp on this machine, as far as we use it. Await it at the top of a test file. */
export async function startCoinbase(kind: 'ed25519' | 'ec' = 'ed25519'): Promise<CoinbaseEmulator> {
  const { secret, publicKey } = kind === 'ed25519' ? edwardsKey() : curveKey();
  const sessions: AskedSession[] = [];
  const heard: string[] = [];

  function answer(request: IncomingMessage, body: string, response: ServerResponse): void {
    heard.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)} ${body}`);
    const say = (status: number, content: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content));
    if (request.method === 'GET') return void response.end('<h1>Coinbase</h1>');
    if (request.method !== 'POST' || request.url !== '/platform/v2/onramp/sessions') return void say(404, {});
    if (emulator.failWith !== undefined) {
      response.writeHead(emulator.failWith.status).end(emulator.failWith.body);
      return;
    }
    const claims = readToken(request, publicKey);
    if (claims === undefined) return void say(401, { errorType: 'unauthorized' });
    const asked = JSON.parse(body) as Record<string, unknown>;
    const missing = ['purchaseCurrency', 'destinationNetwork', 'destinationAddress'].filter((name) => !asked[name]);
    if (missing.length > 0) return void say(400, { errorType: 'invalid_request' });
    sessions.push({ body: asked, claims });
    say(201, { session: { onrampUrl: `${emulator.url}/buy?sessionToken=${randomUUID()}` } });
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(request, Buffer.concat(chunks).toString('utf8'), response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const emulator: CoinbaseEmulator = {
    url,
    env: {
      COINBASE_ONRAMP_KEY_ID: keyId,
      COINBASE_ONRAMP_KEY_SECRET: secret,
      COINBASE_ONRAMP_WEBHOOK_SECRET: webhookSecret,
      COINBASE_ONRAMP_URL: url,
    },
    sessions,
    heard,
    failWith: undefined,
    sign(body, { atMs = Date.now(), secret: by = webhookSecret } = {}) {
      const headers: Record<string, string> = {
        'content-type': 'application/json',
        'x-event-id': randomUUID(),
        'x-event-type': String((JSON.parse(body) as { eventType?: string }).eventType),
      };
      const time = Math.floor(atMs / 1_000);
      const names = Object.keys(headers).join(' ');
      const values = Object.values(headers).join('.');
      const digest = createHmac('sha256', by).update(`${time}.${names}.${values}.${body}`).digest('hex');
      return { ...headers, 'x-hook0-signature': `t=${time},h=${names},v1=${digest}` };
    },
  };
  return emulator;
}

function edwardsKey(): { secret: string; publicKey: KeyObject } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' });
  const secret = Buffer.concat([Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')]).toString('base64');
  return { secret, publicKey };
}

function curveKey(): { secret: string; publicKey: KeyObject } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const pem = privateKey.export({ format: 'pem', type: 'sec1' }).toString();
  return { secret: pem.replaceAll('\n', '\\n'), publicKey: createPublicKey(privateKey) };
}

/** The claims of a token that is ours, for this request, and valid now. */
function readToken(request: IncomingMessage, key: KeyObject): Record<string, unknown> | undefined {
  const [head = '', content = '', signature = ''] = (request.headers.authorization ?? '')
    .replace('Bearer ', '')
    .split('.');
  const decode = (part: string) =>
    JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as Record<string, unknown>;
  const bytes = Buffer.from(`${head}.${content}`);
  const given = Buffer.from(signature, 'base64url');
  const { alg, kid } = decode(head);
  const valid =
    alg === 'EdDSA'
      ? verify(null, bytes, key, given)
      : verify('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' }, given);
  const claims = decode(content);
  const now = Date.now() / 1_000;
  const current = Number(claims['nbf']) <= now && Number(claims['exp']) > now;
  const uri = `${request.method} ${request.headers.host}${request.url}`;
  const forThis = Array.isArray(claims['uris']) && claims['uris'].includes(uri);
  return valid && current && forThis && kid === keyId && claims['sub'] === keyId ? claims : undefined;
}
