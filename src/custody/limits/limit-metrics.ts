import type { Queryable } from '../../kernel/db/database.ts';
import { defineMetrics, type MetricSource, mostCounted } from '../../kernel/metrics/metric.ts';
import { readSentWithinHour } from './hourly-limit.ts';
import type { OutgoingLimits } from './outgoing-limits.ts';

export function limitMetrics(db: Queryable, { perHour }: OutgoingLimits): MetricSource {
  return defineMetrics({
    name: 'withdrawals',
    metrics: {
      paywright_withdrawals_held: {
        type: 'gauge',
        help: 'Withdrawals on hold for the operator, by reason.',
      },
      paywright_withdrawals_hour_usdc: { type: 'gauge', help: 'Outgoing payments within the last hour, in USDC.' },
      paywright_withdrawals_hour_limit_usdc: {
        type: 'gauge',
        help: 'Hourly limit on outgoing payments, in USDC; 0 means no limit.',
      },
    },
    maxAgeMs: 10_000,
    async read() {
      const { rows } = await db.query<{ by: string; held: number }>(
        `SELECT by, count(w.held_by)::int AS held
           FROM unnest(ARRAY['screening', 'freeze', 'hourly_limit']) by
           LEFT JOIN (SELECT coalesce(held_by, 'screening') AS held_by FROM withdrawals
                       WHERE finished_at IS NULL AND status = 'held' LIMIT $1) w ON w.held_by = by GROUP BY by`,
        [mostCounted],
      );
      return {
        paywright_withdrawals_held: rows.map(({ by, held }) => ({ labels: { by }, value: held })),
        paywright_withdrawals_hour_usdc: toUsdc(await readSentWithinHour(db)),
        paywright_withdrawals_hour_limit_usdc: toUsdc(perHour ?? 0n),
      };
    },
  });
}

function toUsdc(value: bigint): number {
  return Number(value) / 1_000_000;
}
