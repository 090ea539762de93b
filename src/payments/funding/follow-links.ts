import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../../kernel/db/database.ts';
import { type FundingPageView, readFundingPages } from './page-view.ts';

/** Tells those who have a page open what becomes of its link. */
export interface LinkFollower {
  /** What it is now, and then each time it is something else, until the signal says that nobody listens. */
  follow(linkId: string, signal: AbortSignal): AsyncGenerator<FundingPageView>;
}

export interface FollowerOptions {
  readonly db: Queryable;
  /** How often to look, for all open pages with one question. */
  readonly everyMs?: number;
}

/** However many pages are open, the database is asked once in a while, and not at all when there are none. */
export function createLinkFollower({ db, everyMs = 500 }: FollowerOptions): LinkFollower {
  const listening = new Map<string, number>();
  let round: Promise<ReadonlyMap<string, FundingPageView>> | undefined;

  /** The round under way is for those who come meanwhile too, unless it has begun without their link. */
  function nextRound(): Promise<ReadonlyMap<string, FundingPageView>> {
    round ??= sleep(everyMs)
      .then(() => {
        round = undefined;
        return readFundingPages(db, [...listening.keys()]);
      })
      // A database that is away for a moment shows nothing new; the page says the last thing that was true.
      .catch(() => new Map());
    return round;
  }

  return {
    async *follow(linkId, signal) {
      listening.set(linkId, (listening.get(linkId) ?? 0) + 1);
      let told: string | undefined;
      try {
        let view = (await readFundingPages(db, [linkId])).get(linkId);
        while (!signal.aborted) {
          const text = view && fingerprint(view);
          if (view !== undefined && text !== told) {
            told = text;
            yield view;
          }
          view = (await nextRound()).get(linkId);
        }
      } finally {
        const left = (listening.get(linkId) ?? 1) - 1;
        if (left === 0) listening.delete(linkId);
        else listening.set(linkId, left);
      }
    },
  };
}

function fingerprint(view: FundingPageView): string {
  return JSON.stringify(view, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}
