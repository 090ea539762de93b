import { defineMetrics, type MetricSource } from '../../kernel/metrics/metric.ts';
import type { ReserveRow } from './report.ts';
import type { Reserves } from './reserves.ts';

/**
 * A report asks every chain about every wallet with a balance, so it is made this often, however often Prometheus
 * scrapes.
 */
const everyMs = 10 * 60_000;

/** Amounts are floats, which is enough for an alert; `paywright reserves` is exact. */
export function reserveMetrics(reserves: Pick<Reserves, 'report'>): MetricSource {
  return defineMetrics({
    name: 'reserves',
    metrics: {
      paywright_reserves_difference: {
        type: 'gauge',
        help: 'What we hold less what we owe and what is in flight: 0. Missing while the chain cannot be asked.',
      },
      paywright_reserves_owed: { type: 'gauge', help: 'What the ledger owes.' },
      paywright_reserves_unknown: { type: 'gauge', help: '1 where the last report could not ask the chain.' },
      paywright_reserves_reported_at_seconds: { type: 'gauge', help: 'When that report was made, since 1970.' },
    },
    everyMs,
    async read() {
      const { reserves: rows, at } = await reserves.report();
      const each = (count: (row: ReserveRow) => string | null) =>
        rows.flatMap((row) => {
          const text = count(row);
          return text === null ? [] : [{ labels: { chain: row.chain, asset: row.asset }, value: Number(text) }];
        });
      return {
        paywright_reserves_difference: each(({ difference }) => difference),
        paywright_reserves_owed: each(({ owed }) => owed),
        paywright_reserves_unknown: each(({ difference }) => (difference === null ? '1' : '0')),
        paywright_reserves_reported_at_seconds: new Date(at).getTime() / 1000,
      };
    },
  });
}
