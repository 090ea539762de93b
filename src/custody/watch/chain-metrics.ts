import type { Networks } from '../../chains/network.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { defineMetrics, type MetricSource } from '../../kernel/metrics/metric.ts';
import type { ChainId } from '../../money/catalogue.ts';

export function chainMetrics(db: Queryable, networks: Networks): MetricSource {
  return defineMetrics({
    name: 'chains',
    metrics: {
      paywright_chain_silent_seconds: {
        type: 'gauge',
        help: 'Seconds since the chain was last read; +Inf if never.',
      },
      paywright_chain_block: { type: 'gauge', help: 'The block up to which deposits are credited.' },
    },
    async read() {
      const { rows } = await db.query<{ chain: ChainId; silent: number; block: bigint }>(
        `SELECT chain, greatest(extract(epoch FROM now() - read_at), 0)::float8 AS silent, block_number AS block
           FROM chain_cursors`,
      );
      const read = new Map(rows.map((row) => [row.chain, row]));
      const labelled = [...networks.keys()].map((chain) => ({ labels: { chain }, row: read.get(chain) }));
      return {
        paywright_chain_silent_seconds: labelled.map(({ labels, row }) => ({
          labels,
          value: row?.silent ?? Number.POSITIVE_INFINITY,
        })),
        paywright_chain_block: labelled.flatMap(({ labels, row }) =>
          row === undefined ? [] : [{ labels, value: Number(row.block) }],
        ),
      };
    },
  });
}
