import { onlyRow, type Queryable } from '../kernel/db/database.ts';
import { defineMetrics, type MetricSource, mostCounted } from '../kernel/metrics/metric.ts';

/** The backlog, counted on the partial index of pending deliveries. */
export function deliveryMetrics(db: Queryable): MetricSource {
  return defineMetrics({
    name: 'webhooks',
    metrics: {
      paywright_webhook_events_waiting: { type: 'gauge', help: 'Events that have not become deliveries yet.' },
      paywright_webhook_deliveries_pending: {
        type: 'gauge',
        help: 'Deliveries that have not ended, including retries.',
      },
      paywright_webhook_deliveries_due: { type: 'gauge', help: 'Pending deliveries that are due now.' },
      paywright_webhook_deliveries_oldest_due_seconds: {
        type: 'gauge',
        help: 'How long the oldest due delivery has been due.',
      },
    },
    maxAgeMs: 10_000,
    async read() {
      const { events, pending, due, oldest } = onlyRow(
        await db.query<{ events: number; pending: number; due: number; oldest: number }>(
          `SELECT (SELECT count(*) FROM (SELECT FROM ledger.events LIMIT $1) e)::int AS events, d.*
             FROM (SELECT count(*)::int AS pending, count(*) FILTER (WHERE due_at <= now())::int AS due,
                          greatest(coalesce(extract(epoch FROM now() - min(due_at)), 0), 0)::float8 AS oldest
                     FROM (SELECT due_at FROM webhook_deliveries WHERE status = 'pending' LIMIT $1) p) d`,
          [mostCounted],
        ),
      );
      return {
        paywright_webhook_events_waiting: events,
        paywright_webhook_deliveries_pending: pending,
        paywright_webhook_deliveries_due: due,
        paywright_webhook_deliveries_oldest_due_seconds: oldest,
      };
    },
  });
}
