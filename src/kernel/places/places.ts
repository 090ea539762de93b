import { NoPlace } from './no-place.ts';

/** Who takes a place, by each kind of owner that has a share: a caller, an address, a link. A missing kind is not counted. */
export type Holder<Kind extends string> = { readonly [One in Kind]?: string | undefined };

export interface PlaceLimits<Kind extends string> {
  /** What takes the places, in the plural, as a refusal names it: `searches`. */
  readonly what: string;
  readonly inAll: number;
  /** The most that one owner of each kind holds while there is plenty of room. */
  readonly shares: Readonly<Record<Kind, number>>;
}

export interface Place {
  /** May be called more than once. */
  leave(): void;
}

/** A place that counts for its owners, but not yet in all. */
interface BegunPlace extends Place {
  /** The work turns out to be long. Throws `NoPlace` when there is no room in all. */
  stay(): void;
}

export interface Places<Kind extends string> {
  /** Throws `NoPlace` when an owner has no room, or when there is none in all. */
  enter(holder: Holder<Kind>): Place;
  /** For work that is mostly short: short work takes room from its own owners only. */
  begin(holder: Holder<Kind>): BegunPlace;
  /** Whether `enter` would let this holder in now. */
  hasRoom(holder: Holder<Kind>): boolean;
  readonly isFull: boolean;
}

type Obstacle = 'all' | { readonly kind: string; readonly share: number };

/**
 * How much of something is under way at once: in all, and for each owner. An owner's share shrinks with the room that others leave,
 * so that several greedy owners together never fill all places: the last ones go to owners that hold none or few.
 */
export function createPlaces<Kind extends string>({ what, inAll, shares }: PlaceLimits<Kind>): Places<Kind> {
  const kinds = Object.entries<number>(shares).map(([kind, share]) => ({
    kind: kind as Kind,
    share,
    taken: new Map<string, number>(),
  }));
  let underWay = 0;

  /** With n greedy owners and a share of 1/8, each gets 1/(7 + n) of all places. Every owner may hold one. */
  function shareNow(share: number, own: number): number {
    const leftByOthers = inAll - Math.max(0, underWay - own);
    return Math.max(1, Math.ceil((share * leftByOthers) / inAll));
  }

  /** What is in this holder's way: an owner's own share, or all places together. */
  function findObstacle(holder: Holder<Kind>): Obstacle | undefined {
    for (const { kind, share, taken } of kinds) {
      const owner = holder[kind];
      if (owner === undefined) continue;
      const own = taken.get(owner) ?? 0;
      if (own >= share) return { kind, share };
      if (own >= shareNow(share, own)) return 'all';
    }
    return undefined;
  }

  function count(holder: Holder<Kind>, change: 1 | -1): void {
    for (const { kind, taken } of kinds) {
      const owner = holder[kind];
      if (owner === undefined) continue;
      const now = (taken.get(owner) ?? 0) + change;
      if (now === 0) taken.delete(owner);
      else taken.set(owner, now);
    }
  }

  function begin(holder: Holder<Kind>): BegunPlace {
    const obstacle = findObstacle(holder);
    if (obstacle !== undefined) {
      throw obstacle === 'all' ? NoPlace.inAll(what) : NoPlace.ofOwner({ what, ...obstacle });
    }
    count(holder, 1);
    let isThere = true;
    let stays = false;
    return {
      stay() {
        if (underWay >= inAll) throw NoPlace.inAll(what);
        stays = true;
        underWay++;
      },
      leave() {
        if (!isThere) return;
        isThere = false;
        if (stays) underWay--;
        count(holder, -1);
      },
    };
  }

  return {
    begin,
    hasRoom: (holder) => underWay < inAll && findObstacle(holder) === undefined,
    enter(holder) {
      const place = begin(holder);
      try {
        place.stay();
        return place;
      } catch (error) {
        place.leave();
        throw error;
      }
    },
    get isFull() {
      return underWay >= inAll;
    },
  };
}
