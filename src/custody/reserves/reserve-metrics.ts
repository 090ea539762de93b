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
        help: 'Held minus owed minus in flight; should be 0. Absent while the chain cannot be asked.',
      },
      paywright_reserves_owed: { type: 'gauge', help: 'Owed according to the ledger.' },
      paywright_reserves_unknown: { type: 'gauge', help: '1 if the last report could not ask the chain, else 0.' },
      paywright_reserves_reported_at_seconds: { type: 'gauge', help: 'Unix time of the last report.' },
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
