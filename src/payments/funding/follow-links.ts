import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../../kernel/db/database.ts';
import { type FundingPageView, readFundingPages } from './page-view.ts';

export interface LinkFollower {
  /** Yields the current view and then each change, until the signal aborts. */
  follow(linkId: string, signal: AbortSignal): AsyncGenerator<FundingPageView>;
}

export interface FollowerOptions {
  readonly db: Queryable;
  readonly everyMs?: number;
}

/** One query serves all open pages; without open pages there is none. */
export function createLinkFollower({ db, everyMs = 500 }: FollowerOptions): LinkFollower {
  const listening = new Map<string, number>();
  let round: Promise<ReadonlyMap<string, FundingPageView>> | undefined;

  /** Pages opened meanwhile share the pending round. */
  function nextRound(): Promise<ReadonlyMap<string, FundingPageView>> {
    round ??= sleep(everyMs)
      .then(() => {
        round = undefined;
        return readFundingPages(db, [...listening.keys()]);
      })
      // A short database outage shows nothing new; pages keep the last view.
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
