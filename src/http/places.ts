import { httpErrors } from './errors.ts';

export interface PlaceLimits {
  readonly atOnce: number;
  readonly perAccount: number;
}

export interface Places {
  /** Throws the refusal when the owner has no room. */
  enter(owner: string): Place;
}

interface Place {
  /** It turns out to be long. Throws the refusal when there is no room in all. */
  stay(): void;
  /** May be done more than once. */
  leave(): void;
}

const askAgainSeconds = 5;

/**
 * How many long answers are under way: of nobody so many that others find no room. What turns out to be short takes no room from
 * anybody but its owner, so those who read slowly keep nobody from it.
 */
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
      taken.set(owner, own + 1);
      let isThere = true;
      let stays = false;
      return {
        stay() {
          if (inAll >= atOnce) {
            throw httpErrors.unavailable('Too many long answers are under way. Ask again in a moment.', { headers });
          }
          stays = true;
          inAll++;
        },
        leave() {
          if (!isThere) return;
          isThere = false;
          if (stays) inAll--;
          const left = (taken.get(owner) ?? 1) - 1;
          if (left === 0) taken.delete(owner);
          else taken.set(owner, left);
        },
      };
    },
  };
}
