import type { Networks } from '../../chains/network.ts';
import type { SilentChains } from '../../chains/silent-chains.ts';
import { type Clock, monotonicClock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
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
