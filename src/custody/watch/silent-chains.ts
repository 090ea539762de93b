import type { Networks, SilentChains } from '../../chains/network.ts';
import { type Clock, monotonicClock } from '../../kernel/clock.ts';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import { defineMetrics, type MetricSource } from '../../kernel/metrics/metric.ts';
import type { ChainId } from '../../money/catalogue.ts';

/** How long a chain may go unread before it counts as silent. */
const longestSilenceMs = 60_000;

/** Many requests ask; one a second reaches the database. */
const rememberedMs = 1_000;

/** The watcher of a chain, in any process, records when the chain last answered. */
export function createSilentChains(db: Database, networks: Networks, clock: Clock = monotonicClock): SilentChains {
  let asked: { readonly at: number; readonly answer: Promise<readonly ChainId[]> } | undefined;
  return () => {
    if (asked === undefined || clock.now() - asked.at >= rememberedMs) {
      asked = { at: clock.now(), answer: findSilent(db, networks) };
      // The next caller retries after a failure.
      asked.answer.catch(() => {
        asked = undefined;
      });
    }
    return asked.answer;
  };
}

async function findSilent(db: Database, networks: Networks): Promise<readonly ChainId[]> {
  const { rows } = await db.query<{ chain: ChainId }>(
    'SELECT chain FROM chain_cursors WHERE read_at > now() - make_interval(secs => $1)',
    [longestSilenceMs / 1_000],
  );
  return [...networks.keys()].filter((id) => !rows.some(({ chain }) => chain === id));
}

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
      const { rows } = await db.query<{ chain: ChainId; silent: number; block: number }>(
        `SELECT chain, greatest(extract(epoch FROM now() - read_at), 0)::float8 AS silent, block_number::float8 AS block
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
          row === undefined ? [] : [{ labels, value: row.block }],
        ),
      };
    },
  });
}
