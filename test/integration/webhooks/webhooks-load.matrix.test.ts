import { expect, it } from 'vitest';
import { oneOfMany } from '../../support/matrix.ts';
import { startReceiver } from '../../support/receiver.ts';
import { until } from '../../support/until.ts';
import { useWebhooks } from '../../support/webhooks.ts';

const world = useWebhooks();
const receiver = await startReceiver();
const payers = 20;

const loads = [
  { name: 'a thousand', paymentsEach: 50, isRepresentative: true },
  { name: 'ten thousand', paymentsEach: 500, isRepresentative: false },
];

for (const { name, paymentsEach, isRepresentative } of loads) {
  it(
    `${name} events reach a receiver that fails three times in ten, each to its end, by two processes`,
    oneOfMany({ isRepresentative }),
    () => deliverAll(paymentsEach),
  );
}

async function deliverAll(paymentsEach: number): Promise<void> {
  const payments = payers * paymentsEach;
  const from = receiver.arrived.length;
  receiver.answer = (_arrived, response) => void response.writeHead(Math.random() < 0.3 ? 500 : 200).end();
  const webhooks = await Promise.all(Array.from({ length: payers }, () => world.addPayer(receiver)));
  // Time enough for each, so that nothing is tried again or given up because much is done at once.
  const patience = { timeoutMs: 60_000, leaseMs: 600_000 };
  for (let one = 0; one < 2; one++) world.deliver([receiver], { retrySeconds: [0.1, 0.2, 0.4], ...patience });
  await Promise.all(webhooks.map(({ id }) => world.pay(id, paymentsEach)));

  const { db } = world;
  const ids = webhooks.map(({ webhookId }) => webhookId);
  await until(
    'everything to end',
    async () => {
      const { rows } = await db.query<{ ended: bigint; waiting: bigint }>(
        `SELECT (SELECT count(*) FROM webhook_deliveries WHERE status <> 'pending' AND webhook_id = ANY ($1)) AS ended,
                (SELECT count(*) FROM ledger.events) AS waiting`,
        [ids],
      );
      return rows[0]?.ended === BigInt(payments) && rows[0].waiting === 0n;
    },
    240_000,
  );

  const { rows } = await db.query<{
    eventId: string;
    status: string;
    attempts: number;
    codes: number[];
    transferId: string;
  }>(
    `SELECT d.event_id, d.status, d.attempts, (d.body::json->'data'->>'transferId') AS transfer_id,
            ARRAY(SELECT a.response_code FROM webhook_attempts a WHERE a.delivery_id = d.id ORDER BY a.number) AS codes
       FROM webhook_deliveries d WHERE d.webhook_id = ANY ($1)`,
    [ids],
  );
  // None missing, none twice: one event for each payment, one delivery for each event.
  expect(rows).toHaveLength(payments);
  expect(new Set(rows.map(({ eventId }) => eventId)).size).toBe(payments);
  expect(new Set(rows.map(({ transferId }) => transferId)).size).toBe(payments);
  for (const { status, attempts, codes } of rows) {
    expect(attempts).toBe(codes.length);
    const good = codes.filter((code) => code === 200).length;
    if (status === 'delivered') expect([good, codes.at(-1)]).toEqual([1, 200]);
    else expect([status, good, codes.length]).toEqual(['failed', 0, 4]);
  }
  // Every request that was made is in the log, and no other.
  const logged = rows.reduce((sum, { attempts }) => sum + attempts, 0);
  expect(receiver.arrived.slice(from)).toHaveLength(logged);
  const delivered = rows.filter(({ status }) => status === 'delivered').length;
  // 0.3 to the fourth is less than one in a hundred.
  expect(delivered).toBeGreaterThan(payments * 0.97);
}
