import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Database, openDatabase } from '../src/kernel/db/database.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import { createSecrets } from '../src/kernel/secrets/secrets.ts';
import { createWebhook } from '../src/webhooks/webhook.ts';
import { load, startServer } from './http.ts';
import { benchSecret, createPeople } from './people.ts';

export interface WebhookFigures {
  /** Deliveries a second while nothing else happens. */
  readonly alone: number;
  /** Both a second, in the same seconds. */
  readonly beside: { readonly deliveries: number; readonly transfers: number };
  /** The same transfers without deliveries. */
  readonly transfersAlone: number;
  /** To a receiver that fails three times in ten: how each of them ended. */
  readonly failing: { readonly delivered: number; readonly failed: number; readonly seconds: number };
}

const receivers = 20;
const connections = 16;

/** Deliveries are signed, sent by the service in a process of its own to one in another, and every attempt is logged. */
export async function measureWebhooks(
  createDatabase: (name: string) => Promise<string>,
  { seconds, say }: { readonly seconds: number; readonly say: (line: string) => void },
): Promise<WebhookFigures> {
  const url = await createDatabase('webhooks');
  const db = openDatabase({ url, poolSize: 3, logger: createLogger('silent') });
  const people = await createPeople(db, 1_000);
  const receiver = await startReceiver();
  const addresses = { ALLOW_PRIVATE_HOSTS: `127.0.0.1:${receiver.port}`, WEBHOOK_RETRY_SECONDS: '1,2,4' };
  const server = await startServer(url, addresses);
  const pay = () => load(server, { connections, seconds, path: '/api/agent/transfer', people });
  try {
    for (const { id } of people.slice(0, receivers)) await register(db, id, `http://127.0.0.1:${receiver.port}/`);
    await load(server, { connections, seconds: 0, path: '/api/agent/transfer', people, everybodyOnce: true });
    await untilDrained(db);

    say('Delivering to webhooks …');
    await fill(db, 5_000);
    await untilDrained(db);
    const begun = performance.now();
    const waiting = await fill(db, 20_000);
    await untilDrained(db);
    const alone = waiting / ((performance.now() - begun) / 1_000);

    say('Delivering beside transfers …');
    const { transfersPerSecond: transfersAlone } = await pay();
    await untilDrained(db);
    // More than can be delivered meanwhile, so that there is work to the end.
    await fill(db, 3_000 * (seconds + 2));
    const before = await receiver.count();
    const from = performance.now();
    const { transfersPerSecond: transfers } = await pay();
    const deliveries = ((await receiver.count()) - before) / ((performance.now() - from) / 1_000);
    await untilDrained(db);

    say('Delivering to a receiver that fails …');
    const failing = await measureFailing(db, receiver, 10_000);
    return { alone, beside: { deliveries, transfers }, transfersAlone, failing };
  } finally {
    await server.stop();
    receiver.stop();
    await db.close();
  }
}

async function measureFailing(db: Database, receiver: Receiver, count: number) {
  await receiver.count(30);
  await db.query('TRUNCATE webhook_deliveries, webhook_attempts');
  const begun = performance.now();
  await fill(db, count);
  await untilDrained(db);
  const seconds = (performance.now() - begun) / 1_000;
  const { rows } = await db.query<{ delivered: bigint; failed: bigint; wrong: bigint }>(
    `SELECT count(*) FILTER (WHERE status = 'delivered') AS delivered, count(*) FILTER (WHERE status = 'failed') AS failed,
            count(*) FILTER (WHERE good <> (status = 'delivered')::integer OR made <> attempts) AS wrong
       FROM (SELECT d.*, (SELECT count(*) FROM webhook_attempts a WHERE a.delivery_id = d.id) AS made,
                    (SELECT count(*) FROM webhook_attempts a WHERE a.delivery_id = d.id AND response_code = 200) AS good
               FROM webhook_deliveries d) d`,
  );
  const { delivered = 0n, failed = 0n, wrong = 0n } = rows[0] ?? {};
  if (Number(delivered + failed) !== count || wrong > 0n) throw new Error('a delivery was lost or marked twice');
  return { delivered: Number(delivered), failed: Number(failed), seconds };
}

async function register(db: Database, accountId: bigint, url: string): Promise<void> {
  const events = ['payment.sent', 'payment.received'];
  const secret = 'whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQ=';
  const keyId = `key_${accountId}`;
  await db.transaction((tx) =>
    createWebhook(tx, createSecrets(benchSecret), { caller: { accountId, keyId, tier: 'free' }, url, events, secret }),
  );
}

/** Deliveries as they are written for events, evenly for all webhooks. */
async function fill(db: Database, count: number): Promise<number> {
  await db.query(
    `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_id, event, body, created_at)
     SELECT 'dlv_' || u, w.account_id, w.id, 'evt_' || u, 'payment.sent',
            json_build_object('id', 'evt_' || u, 'type', 'payment.sent', 'createdAt', now(), 'data', json_build_object(
              'transferId', 'trf_' || u, 'amount', 1, 'fee', 0.01, 'recipientAmount', 0.99, 'currency', 'USDC',
              'sender', json_build_object('handle', 'PA-00000001', 'name', 'Bench 1'),
              'recipient', json_build_object('handle', 'PA-00000002', 'name', 'Bench 2')))::text, now()
       FROM generate_series(1, $1::integer / $2::integer) i, webhooks w,
            LATERAL (SELECT ledger.new_id(clock_timestamp()) AS u WHERE i > 0 AND w.id > '') id`,
    [count, receivers],
  );
  return Math.floor(count / receivers) * receivers;
}

async function untilDrained(db: Database): Promise<void> {
  for (;;) {
    const { rows } = await db.query<{ empty: boolean }>(
      `SELECT NOT EXISTS (SELECT FROM webhook_deliveries WHERE status = 'pending')
          AND NOT EXISTS (SELECT FROM ledger.events) AS empty`,
    );
    if (rows[0]?.empty) return;
    await sleep(20);
  }
}

interface Receiver {
  readonly port: number;
  /** Requests so far; and how many in a hundred fail from now on. */
  count(failPercent?: number): Promise<number>;
  stop(): void;
}

async function startReceiver(): Promise<Receiver> {
  const child: ChildProcess = fork(fileURLToPath(new URL('./receiver-process.js', import.meta.url)));
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return {
    port,
    async count(failPercent = 0) {
      child.send({ failPercent });
      const [{ requests }] = (await once(child, 'message')) as [{ requests: number }];
      return requests;
    },
    stop: () => child.disconnect(),
  };
}
