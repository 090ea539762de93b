import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/kernel/clock.ts';
import type { Database } from '../../../src/kernel/db/database.ts';
import { startWakes } from '../../../src/kernel/jobs/wakes.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { transferEvents } from '../../../src/payments/transfers/transfer-posting.ts';
import { type Claimed, claimDeliveries } from '../../../src/webhooks/claim.ts';
import { forgetDeliveries } from '../../../src/webhooks/delivery.ts';
import { fanOut } from '../../../src/webhooks/fan-out.ts';
import { recordResults } from '../../../src/webhooks/recorder.ts';
import { deleteWebhook, disableWebhook } from '../../../src/webhooks/webhook.ts';
import { answerWith, startReceiver } from '../../support/receiver.ts';
import { until } from '../../support/until.ts';
import { type SeenDelivery, useWebhooks } from '../../support/webhooks.ts';

const world = useWebhooks();
const receiver = await startReceiver();
const other = await startReceiver();

async function allEnded(webhookId: string, count: number): Promise<SeenDelivery[]> {
  await until('every delivery to end', async () => (await world.countEnded(webhookId)) === count);
  return world.deliveries(webhookId);
}

describe('an event', () => {
  it('wakes loops that rest, and so does a retry that becomes due', async () => {
    const wakes = await startWakes({ url: world.url, logger: createLogger('silent') });
    onTestFinished(() => wakes.stop());
    const from = receiver.arrived.length;
    receiver.answer = (_arrived, response) =>
      void response.writeHead(receiver.arrived.length - from === 1 ? 500 : 204).end();
    const { id, webhookId } = await world.addPayer(receiver);
    world.deliver([receiver], { wakes: { ...wakes, restMs: () => 600_000 } });
    await world.pay(id, 1);
    expect(await allEnded(webhookId, 1)).toMatchObject([{ status: 'delivered', attempts: 2 }]);
  });
});

describe('a receiver that fails', () => {
  it('is tried four times in all, later each time, with the same event', async () => {
    receiver.answer = answerWith(503, 'not now');
    const from = receiver.arrived.length;
    const { id, webhookId } = await world.addPayer(receiver);
    world.deliver([receiver]);
    await world.pay(id, 1);
    const [delivery] = await allEnded(webhookId, 1);
    expect(delivery).toMatchObject({
      status: 'failed',
      attempts: 4,
      responseCode: 503,
      error: 'The receiver answered 503.',
      codes: [503, 503, 503, 503],
    });
    const arrived = receiver.arrived.slice(from);
    expect(arrived).toHaveLength(4);
    expect(new Set(arrived.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([delivery?.eventId]));
    expect(new Set(arrived.map(({ body }) => body)).size).toBe(1);
    const { rows } = await world.db.query<{ at: Date; responseBody: string; durationMs: number }>(
      'SELECT attempted_at AS at, response_body, duration_ms FROM webhook_attempts WHERE delivery_id = $1 ORDER BY number',
      [delivery?.id],
    );
    const times = rows.map(({ at }) => at.getTime());
    const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    // A tenth sooner at most; a slow machine may take longer.
    for (const [index, wanted] of [200, 400, 800].entries()) expect(waits[index]).toBeGreaterThan(wanted * 0.85);
    expect(rows.every((row) => row.responseBody === 'not now' && row.durationMs >= 0)).toBe(true);
  });

  it('is not asked again once it has answered well', async () => {
    const from = receiver.arrived.length;
    receiver.answer = (arrived, response) => {
      const times = receiver.arrived.slice(from).filter(({ eventId }) => eventId === arrived.eventId).length;
      response.writeHead(times < 3 ? 500 : 204).end();
    };
    const { id, webhookId } = await world.addPayer(receiver);
    world.deliver([receiver]);
    await world.pay(id, 1);
    const [delivery] = await allEnded(webhookId, 1);
    expect(delivery).toMatchObject({ status: 'delivered', attempts: 3, codes: [500, 500, 204], error: null });
  });

  it('fails by a redirect, by silence, by a dead port and by nonsense', async () => {
    const { webhookId, id } = await world.addPayer(receiver);
    const trial = async (answer: typeof receiver.answer) => {
      receiver.answer = answer;
      const before = (await world.deliveries(webhookId)).length;
      await world.pay(id, 1);
      return (await allEnded(webhookId, before + 1)).at(-1);
    };
    const patient = world.deliver([receiver, other], { timeoutMs: 60_000, leaseMs: 600_000, retrySeconds: [] });
    expect(await trial(answerWith(302, '', { location: other.url }))).toMatchObject({
      status: 'failed',
      responseCode: 302,
      error: 'The receiver answered 302, and redirects are not followed.',
    });
    expect(other.arrived).toHaveLength(0);
    expect(await trial((_arrived, response) => void response.destroy())).toMatchObject({
      status: 'failed',
      responseCode: null,
      error: 'The host closed the connection before it answered.',
    });
    await patient.stop();
    world.deliver([receiver], { timeoutMs: 500, retrySeconds: [] });
    expect(await trial(() => {})).toMatchObject({
      status: 'failed',
      responseCode: null,
      error: expect.stringMatching(/time|second/),
    });
  });

  it('may answer anything at all, and the beginning of it is kept', async () => {
    const nonsense = Buffer.concat([Buffer.from([0, 255, 254, 0xc3]), Buffer.alloc(100_000, 'a\0b')]);
    receiver.answer = (_arrived, response) => void response.writeHead(500).end(nonsense);
    const { webhookId, id } = await world.addPayer(receiver);
    world.deliver([receiver], { retrySeconds: [] });
    await world.pay(id, 1);
    const [delivery] = await allEnded(webhookId, 1);
    const { rows } = await world.db.query<{ responseBody: string }>(
      'SELECT response_body FROM webhook_attempts WHERE delivery_id = $1',
      [delivery?.id],
    );
    expect(rows[0]?.responseBody).toMatch(/^\ufffd+a\ufffdba/);
    expect(rows[0]?.responseBody.length).toBeLessThanOrEqual(1_024);
  });
});

describe('410 Gone', () => {
  it('disables the webhook: what waits fails, and nothing more is recorded', async () => {
    receiver.answer = answerWith(410);
    const { id, webhookId } = await world.addPayer(receiver);
    await world.pay(id, 5_000);
    world.deliver([receiver]);
    const deliveries = await allEnded(webhookId, 5_000);
    expect(deliveries.every(({ status }) => status === 'failed')).toBe(true);
    expect(deliveries.every(({ attempts }) => attempts <= 1)).toBe(true);
    expect(deliveries.filter(({ attempts }) => attempts === 0).length).toBeGreaterThan(4_000);
    const { rows } = await world.db.query('SELECT status FROM webhooks WHERE id = $1', [webhookId]);
    expect(rows).toEqual([{ status: 'disabled' }]);
    await world.pay(id, 3);
    expect((await world.db.query('SELECT FROM ledger.events WHERE account_id = $1', [id])).rowCount).toBe(0);
    await expect(world.db.transaction((tx) => disableWebhook(tx, id, webhookId))).resolves.toBe(false);
  });
});

describe('a webhook that is deleted', () => {
  it('is sent nothing more, however long the next attempt would have been away', async () => {
    receiver.answer = answerWith(500);
    const from = receiver.arrived.length;
    const { id, webhookId } = await world.addPayer(receiver);
    world.deliver([receiver], { retrySeconds: [600] });
    await world.pay(id, 3);
    await until('three attempts', async () => {
      const deliveries = await world.deliveries(webhookId);
      return deliveries.length === 3 && deliveries.every(({ attempts }) => attempts === 1);
    });
    await world.db.transaction((tx) => deleteWebhook(tx, id, webhookId));
    const deliveries = await allEnded(webhookId, 3);
    expect(deliveries.map(({ error }) => error)).toEqual(Array(3).fill('The webhook was deleted.'));
    expect(receiver.arrived).toHaveLength(from + 3);
  });
});

describe('a receiver that never answers', () => {
  it('delays nobody else', async () => {
    const unanswered: ServerResponse[] = [];
    receiver.answer = (_arrived, response) => void unanswered.push(response);
    other.answer = answerWith(200);
    const dead = await world.addPayer(receiver);
    const alive = await world.addPayer(other);
    await world.pay(dead.id, 3_000);
    const running = world.deliver([receiver, other], { timeoutMs: 200_000, leaseMs: 600_000 });
    await until('the dead one to be asked', async () => receiver.arrived.length > 0);
    await world.pay(alive.id, 500);
    // The dead one holds its requests for longer than anybody here waits; the other is done before the first of them ends.
    await allEnded(alive.webhookId, 500);
    const waiting = await world.deliveries(dead.webhookId);
    expect(waiting.filter(({ attempts }) => attempts > 0)).toHaveLength(0);
    receiver.answer = answerWith(200);
    for (const response of unanswered) response.end();
    await running.stop();
    await world.db.query('DELETE FROM webhook_deliveries WHERE webhook_id = $1', [dead.webhookId]);
  });
});

describe('five accounts with twenty silent receivers each', () => {
  it('leave room for the webhook of another account', async () => {
    const from = receiver.arrived.length;
    const unanswered: ServerResponse[] = [];
    receiver.answer = (_arrived, response) => void unanswered.push(response);
    other.answer = answerWith(200);
    const silent = await Promise.all(Array.from({ length: 5 }, () => world.addPayer(receiver)));
    for (const payer of silent) for (let more = 1; more < 20; more++) await world.addWebhook(payer, receiver);
    const alive = await world.addPayer(other);
    // Four events for each webhook: 400 requests that last for longer than the test waits, if all of them were begun.
    for (const { id } of silent) await world.pay(id, 4);
    const running = world.deliver([receiver, other], { timeoutMs: 200_000, leaseMs: 600_000 });
    await until('the silent receivers to be asked', async () => receiver.arrived.length - from >= 100);
    await world.pay(alive.id, 50);
    await allEnded(alive.webhookId, 50);
    expect(receiver.arrived.length - from).toBeLessThanOrEqual(5 * 32);
    receiver.answer = answerWith(200);
    for (const response of unanswered) response.end();
    await running.stop();
    const accounts = silent.map(({ id }) => id);
    await world.db.query('DELETE FROM webhook_deliveries WHERE account_id = ANY ($1)', [accounts]);
  });
});

describe('the log', () => {
  it('is forgotten after 30 days, except for what still waits', async () => {
    const { db } = world;
    const { id, webhookId } = await world.addPayer(receiver);
    await db.query(
      `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_id, event, body, status, created_at, finished_at)
       SELECT 'dlv_' || age || status, $1, $2, 'evt', 'payment.sent', '{}', status, now() - age * interval '1 day',
              CASE WHEN status <> 'pending' THEN now() END
         FROM unnest(ARRAY[29, 31]) age, unnest(ARRAY['pending', 'delivered', 'failed']) status`,
      [id, webhookId],
    );
    await db.query(
      `INSERT INTO webhook_attempts (delivery_id, number, attempted_at, duration_ms)
       SELECT 'dlv_31failed', n, now() - (30.5 + n) * interval '1 day', 1 FROM generate_series(-1, 1) n`,
    );
    await forgetDeliveries(db, systemClock);
    expect((await world.deliveries(webhookId)).map((delivery) => delivery.id)).toEqual([
      'dlv_29delivered',
      'dlv_29failed',
      'dlv_29pending',
      'dlv_31pending',
    ]);
    const { rows } = await db.query("SELECT number FROM webhook_attempts WHERE delivery_id = 'dlv_31failed'");
    expect(rows).toEqual([{ number: -1 }]);
    await db.query('DELETE FROM webhook_deliveries WHERE webhook_id = $1', [webhookId]);
  });
});

describe('the log of one account', () => {
  it('holds its newest 20,000, and everything that still waits', async () => {
    const { db } = world;
    const { id, webhookId } = await world.addPayer(receiver);
    await db.query(
      `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_id, event, body, status, created_at, finished_at, due_at)
       SELECT 'dlv_' || lpad(n::text, 6, '0'), $1, $2, 'evt', 'payment.sent', '{}',
              CASE n WHEN 1 THEN 'pending' ELSE 'delivered' END, now(), CASE n WHEN 1 THEN NULL ELSE now() END, now() + interval '1 day'
         FROM generate_series(1, 20010) n`,
      [id, webhookId],
    );
    await db.query(
      "INSERT INTO webhook_attempts (delivery_id, number, attempted_at, duration_ms) SELECT 'dlv_00000' || n, 1, now(), 1 FROM generate_series(1, 9) n",
    );
    await forgetDeliveries(db, systemClock);
    const left = await db.query<{ count: number; oldest: string }>(
      'SELECT count(*)::integer AS count, min(id) AS oldest FROM webhook_deliveries WHERE webhook_id = $1',
      [webhookId],
    );
    expect(left.rows).toEqual([{ count: 20_001, oldest: 'dlv_000001' }]);
    const attempts = await db.query("SELECT delivery_id FROM webhook_attempts WHERE delivery_id LIKE 'dlv_00000%'");
    expect(attempts.rows).toEqual([{ deliveryId: 'dlv_000001' }]);
    await db.query('DELETE FROM webhook_deliveries WHERE webhook_id = $1', [webhookId]);
  });
});

describe('a process that ends in the middle', () => {
  it('has its deliveries made again by another, and each is marked once', async () => {
    other.answer = answerWith(200);
    const from = other.arrived.length;
    const { id, webhookId } = await world.addPayer(other);
    await world.pay(id, 3);
    const attempted = () => new Set(other.arrived.slice(from).map(({ eventId }) => eventId)).size === 3;
    // Its attempts are made, and it dies before it can write one down.
    world.deliver([other], { db: diesBeforeRecording(world.db, attempted), leaseMs: 600_000 });
    await until('the attempts', async () => attempted());
    expect((await world.deliveries(webhookId)).map(({ status }) => status)).toEqual(['pending', 'pending', 'pending']);
    world.deliver([other], { timeoutMs: 60_000, leaseMs: 600_000 });
    // As if so much time had passed.
    await world.db.query('UPDATE webhook_deliveries SET claimed_until = now() WHERE webhook_id = $1', [webhookId]);
    const deliveries = await allEnded(webhookId, 3);
    expect(deliveries.map(({ status, attempts }) => [status, attempts])).toEqual(Array(3).fill(['delivered', 1]));
    const times = new Map<string, number>();
    for (const { eventId } of other.arrived.slice(from)) times.set(eventId, (times.get(eventId) ?? 0) + 1);
    expect([...times.keys()].sort()).toEqual(deliveries.map(({ eventId }) => eventId).sort());
    expect([...times.values()].every((count) => count >= 2)).toBe(true);
  });

  it('and comes back too late, writes nothing', async () => {
    const { db } = world;
    const { id, webhookId } = await world.addPayer(receiver);
    await world.pay(id, 1);
    await fanOut(db, transferEvents);
    const wanted = [{ webhookId, most: 1 }];
    const [stale] = await claimDeliveries(db, wanted, 0);
    const [held] = await claimDeliveries(db, wanted, 60_000);
    expect(held?.id).toBe(stale?.id);
    expect(await claimDeliveries(db, wanted, 60_000)).toEqual([]);
    const result = { attemptedAt: new Date(), durationMs: 5, responseCode: 200, error: null, responseBody: null };
    const record = (delivery: Claimed | undefined) =>
      recordResults(db, [{ ...result, delivery: delivery as Claimed, next: { status: 'delivered' } }]);
    await record(stale);
    expect(await world.deliveries(webhookId)).toMatchObject([{ status: 'pending', attempts: 0, codes: [] }]);
    await record(held);
    await record(held);
    await record(stale);
    expect(await world.deliveries(webhookId)).toMatchObject([{ status: 'delivered', attempts: 1, codes: [200] }]);
  });

  it('gives back what it has not begun when it is stopped', async () => {
    // Who answers so many at once is given more than it is asked at a time. The rest it answers when all of it is to end.
    const unanswered: ServerResponse[] = [];
    let answered = 0;
    receiver.answer = (_arrived, response) => {
      if (answered++ < 60) response.end();
      else unanswered.push(response);
    };
    const { id, webhookId } = await world.addPayer(receiver);
    await world.pay(id, 300);
    const first = world.deliver([receiver], { timeoutMs: 200_000, leaseMs: 600_000 });
    const countClaimed = async () => {
      const { rows } = await world.db.query<{ count: number }>(
        "SELECT count(*)::int FROM webhook_deliveries WHERE webhook_id = $1 AND status = 'pending' AND claimed_until > now()",
        [webhookId],
      );
      return rows[0]?.count ?? 0;
    };
    await until('more to be claimed than is begun', async () => {
      return (await world.countEnded(webhookId)) === 60 && (await countClaimed()) > unanswered.length;
    });
    const stopped = first.stop();
    receiver.answer = answerWith(200);
    for (const response of unanswered) response.end();
    await stopped;
    expect(await countClaimed()).toBe(0);
    expect(await world.countEnded(webhookId)).toBeLessThan(300);
    world.deliver([receiver]);
    const deliveries = await allEnded(webhookId, 300);
    expect(deliveries.every(({ status, codes }) => status === 'delivered' && codes.length === 1)).toBe(true);
  });
});

/** No result is ever written down; and when all attempts are made nothing reaches the database any more: the process has ended. */
function diesBeforeRecording(db: Database, attempted: () => boolean): Database {
  return {
    ...db,
    query(text, values) {
      return attempted() || text.includes('webhook_attempts') ? new Promise(() => {}) : db.query(text, values);
    },
  };
}
