import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readSettings } from '../../../../src/app/read-settings.ts';
import { addCircleNotifications, forgetNotifications } from '../../../../src/custody/adapters/circle/notifications.ts';
import { monotonicClock } from '../../../../src/kernel/clock.ts';
import { createServer } from '../../../../src/kernel/http/server.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { createMemoryLimiter } from '../../../../src/kernel/rate-limit/memory-limiter.ts';
import { createSecrets } from '../../../../src/kernel/secrets/secrets.ts';
import { useCircle } from '../../../emulators/circle/connect.ts';
import { useDatabase } from '../../../support/database.ts';

const database = useDatabase();
const { db } = database;
const circle = useCircle(database);

const told: string[] = [];
let failOnce = false;
let app: FastifyInstance;
let url = '';

/** A server of its own, with nothing in it but this endpoint, and a key cache that is empty. */
async function serve(): Promise<{ app: FastifyInstance; url: string }> {
  const server = createServer({
    config: readSettings({ RATE_LIMIT_ANONYMOUS_PER_MINUTE: '1000' }),
    publicUrl: () => 'http://127.0.0.1',
    routes: [],
    authenticate: () => undefined,
    limiter: createMemoryLimiter(monotonicClock),
    secrets: createSecrets('s'.repeat(32)),
    logger: createLogger('silent'),
    pages: (pages) =>
      addCircleNotifications(pages, {
        db,
        provider: circle.provider,
        async onTransaction(transactionId) {
          if (failOnce) {
            failOnce = false;
            throw new Error('the work could not be told');
          }
          told.push(transactionId);
        },
      }),
  });
  const address = await server.listen({ port: 0, host: '127.0.0.1' });
  return { app: server, url: `${address}/api/circle/notifications` };
}

beforeAll(async () => {
  ({ app, url } = await serve());
});
afterAll(() => app?.close());
beforeEach(() => {
  told.length = 0;
});

const newNotification = (fields: Record<string, unknown> = {}) => ({
  subscriptionId: randomUUID(),
  notificationId: randomUUID(),
  notificationType: 'transactions.outbound',
  notification: { id: randomUUID(), state: 'COMPLETE', blockchain: 'MATIC' },
  timestamp: '2026-11-15T00:00:00.000Z',
  version: 2,
  ...fields,
});

function post(body: Buffer | string, headers: Record<string, string> = {}, to = url): Promise<Response> {
  return fetch(to, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });
}

function postSigned(content: unknown, to = url): Promise<Response> {
  const body = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
  return post(body, circle.emulator.signNotification(body), to);
}

describe('Circle’s notifications', () => {
  it.each(['transactions.outbound', 'transactions.inbound'])(
    'of %s tell which transaction to look at',
    async (notificationType) => {
      const notification = newNotification({ notificationType });
      const response = await postSigned(notification);
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ received: true });
      expect(told).toEqual([notification.notification.id]);
    },
  );

  it('are checked byte by byte as they came', async () => {
    const { notification, ...rest } = newNotification();
    // Spaces, an order and an escape that no serializer of ours would write again.
    const text = `{ "notification" :${JSON.stringify(notification)} , ${JSON.stringify(rest).slice(1, -1)}, "x": "\\u00e9é",\r\n"n": 1.0 }`;
    const body = Buffer.from(text);
    const headers = circle.emulator.signNotification(body);
    expect((await post(Buffer.from(JSON.stringify(JSON.parse(text))), headers)).status).toBe(401);
    expect(told).toEqual([]);
    expect((await post(body, headers)).status).toBe(200);
    expect(told).toEqual([notification.id]);
  });

  it('are taken once, however often they come', async () => {
    const notification = newNotification();
    const statuses = await Promise.all(Array.from({ length: 5 }, async () => (await postSigned(notification)).status));
    expect(statuses).toEqual([200, 200, 200, 200, 200]);
    expect((await postSigned(notification)).status).toBe(200);
    expect(told).toEqual([notification.notification.id]);
  });

  it('are not taken when the work could not be told, so that they come again', async () => {
    failOnce = true;
    const notification = newNotification();
    expect((await postSigned(notification)).status).toBe(500);
    expect((await postSigned(notification)).status).toBe(200);
    expect(told).toEqual([notification.notification.id]);
  });

  it('that we do not know are taken and left alone', async () => {
    for (const notificationType of ['webhooks.test', 'challenges.createWallet', 'tomorrow.news']) {
      expect((await postSigned(newNotification({ notificationType }))).status).toBe(200);
    }
    expect((await postSigned(newNotification({ notification: { hello: 'world' } }))).status).toBe(200);
    expect(told).toEqual([]);
  });

  it('are taken whatever they call their content', async () => {
    const body = Buffer.from(JSON.stringify(newNotification()));
    const headers = circle.emulator.signNotification(body);
    expect((await post(body, { ...headers, 'content-type': 'text/plain' })).status).toBe(200);
    expect(told).toHaveLength(1);
  });

  it('are not counted against a limit, and HEAD finds somebody there', async () => {
    for (let time = 0; time < 3; time++) expect((await postSigned(newNotification())).status).toBe(200);
    const head = await fetch(url, { method: 'HEAD' });
    expect(head.status).toBe(200);
    const get = await fetch(url);
    expect(get.status).toBe(405);
    expect(get.headers.get('allow')).toBe('HEAD, POST');
  });

  it('are forgotten after a month, and not before', async () => {
    const [old, young] = [randomUUID(), randomUUID()];
    await db.query(
      "INSERT INTO circle_notifications (id, received_at) VALUES ($1, now() - interval '40 days'), ($2, now() - interval '20 days')",
      [old, young],
    );
    await forgetNotifications(db, { now: () => Date.now() }).handler.run({});
    const { rows } = await db.query<{ id: string }>('SELECT id FROM circle_notifications WHERE id = ANY ($1)', [
      [old, young],
    ]);
    expect(rows).toEqual([{ id: young }]);
  });
});

describe('anything else', () => {
  const body = Buffer.from(JSON.stringify(newNotification()));
  const forger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const real = () => circle.emulator.signNotification(body);

  it.each<[string, () => Record<string, string>, number]>([
    ['without a signature', () => ({ 'x-circle-key-id': real()['x-circle-key-id'] }), 401],
    ['without a key', () => ({ 'x-circle-signature': real()['x-circle-signature'] }), 401],
    ['signed over other bytes', () => circle.emulator.signNotification(Buffer.from('{}')), 401],
    [
      'signed by somebody else',
      () => ({ ...real(), 'x-circle-signature': sign('sha256', body, forger.privateKey).toString('base64') }),
      401,
    ],
    ['with a key that Circle does not know', () => ({ ...real(), 'x-circle-key-id': randomUUID() }), 401],
    ['with a key that is no id', () => ({ ...real(), 'x-circle-key-id': '../../v1/w3s/wallets' }), 401],
    ['with a signature that is no base64', () => ({ ...real(), 'x-circle-signature': '!!!!!!!!!!!!' }), 401],
    [
      'with a signature of zeros',
      () => ({ ...real(), 'x-circle-signature': Buffer.alloc(70).toString('base64') }),
      401,
    ],
    ['with a very long signature', () => ({ ...real(), 'x-circle-signature': 'A'.repeat(4_000) }), 401],
  ])('%s is refused without a word more', async (_, headers, status) => {
    const response = await post(body, headers());
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toContain('application/problem+json');
    expect(await response.json()).toMatchObject({
      code: 'invalid_signature',
      detail: 'A notification must carry the signature of Circle over the exact bytes of its body.',
    });
    expect(told).toEqual([]);
  });

  it.each([
    ['no JSON', '{"notificationId":'],
    ['no notification', '[]'],
    ['an id that is none', JSON.stringify(newNotification({ notificationId: 'x' }))],
    ['a dangerous name', JSON.stringify(newNotification()).replace('"version"', '"__proto__"')],
  ])('that Circle signed but is %s gets 400', async (_, text) => {
    const response = await postSigned(Buffer.from(text));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 'invalid_request' });
    expect(told).toEqual([]);
  });

  it('without a body is refused', async () => {
    const response = await fetch(url, { method: 'POST', headers: circle.emulator.signNotification(Buffer.alloc(0)) });
    expect(response.status).toBe(401);
  });

  it('over 64 KiB gets 413', async () => {
    const response = await postSigned(newNotification({ padding: 'x'.repeat(70_000) }));
    expect(response.status).toBe(413);
  });

  it('that names unknown keys does not use up our requests to Circle', async () => {
    const fresh = await serve();
    try {
      // The real key is known first, and stays so.
      expect((await postSigned(newNotification(), fresh.url)).status).toBe(200);
      const asked = () => circle.emulator.exchanges.filter(({ path }) => path.startsWith('/v2/notifications')).length;
      const before = asked();
      const statuses = new Set<number>();
      for (let attack = 0; attack < 40; attack++) {
        statuses.add((await post(body, { ...real(), 'x-circle-key-id': randomUUID() }, fresh.url)).status);
      }
      expect(asked() - before).toBeLessThanOrEqual(6);
      expect(statuses).toEqual(new Set([401, 503]));
      expect((await postSigned(newNotification(), fresh.url)).status).toBe(200);
      expect(asked() - before).toBeLessThanOrEqual(6);
    } finally {
      await fresh.app.close();
    }
  });

  it('is put off while Circle cannot be asked for its key', async () => {
    const fresh = await serve();
    try {
      await circle.emulator.shut();
      const notification = newNotification();
      const response = await postSigned(notification, fresh.url);
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toBe('30');
      await circle.emulator.open();
      expect((await postSigned(notification, fresh.url)).status).toBe(200);
      expect(told).toEqual([notification.notification.id]);
    } finally {
      await fresh.app.close();
    }
  });
});
