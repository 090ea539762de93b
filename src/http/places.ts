import { httpErrors } from './errors.ts';

export interface PlaceLimits {
  readonly atOnce: number;
  readonly perAccount: number;
}

export interface Places {
  /** Throws the refusal when there is no room. Answers how to leave, which may be done more than once. */
  enter(owner: string): () => void;
}

const askAgainSeconds = 5;

/** How many long answers are under way: of nobody so many that others find no room. */
export function createPlaces({ atOnce, perAccount }: PlaceLimits): Places {
  const taken = new Map<string, number>();
  let inAll = 0;
  const headers = { 'Retry-After': String(askAgainSeconds) };

  return {
    enter(owner) {
      const own = taken.get(owner) ?? 0;
      if (own >= perAccount) {
        throw httpErrors.rate_limited(
          `${own === 1 ? 'One answer' : `${own} answers`} of this kind to you ${own === 1 ? 'is' : 'are'} under way, and no more are at once. Read to the end and ask again.`,
          { headers },
        );
      }
      if (inAll >= atOnce) {
        throw httpErrors.unavailable('Too many long answers are under way. Ask again in a moment.', { headers });
      }
      taken.set(owner, own + 1);
      inAll++;
      let isThere = true;
      return () => {
        if (!isThere) return;
        isThere = false;
        inAll--;
        const left = (taken.get(owner) ?? 1) - 1;
        if (left === 0) taken.delete(owner);
        else taken.set(owner, left);
      };
    },
  };
}
