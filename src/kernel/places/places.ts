/** Too many are in progress. Over HTTP this is 429 when the owner's own limit is reached, and 503 otherwise. */
export class NoPlace extends Error {
  override readonly name = 'NoPlace';
  readonly isOwnShare: boolean;
  readonly retryAfterSeconds = 5;

  private constructor(message: string, isOwnShare: boolean) {
    super(message);
    this.isOwnShare = isOwnShare;
  }

  static ofOwner({ what, kind, share }: { readonly what: string; readonly kind: string; readonly share: number }) {
    return new NoPlace(
      `The limit of ${share} concurrent ${what} per ${kind} is reached. Try again when one has ended.`,
      true,
    );
  }

  static inAll(what: string) {
    return new NoPlace(`Too many ${what} are in progress. Try again in a moment.`, false);
  }
}

/** The owners of a place, one per kind: a caller, an address, a link. A missing kind is not limited. */
export type Holder<Kind extends string> = { readonly [One in Kind]?: string | undefined };

export interface PlaceLimits<Kind extends string> {
  /** The plural for error messages, such as `searches`. */
  readonly what: string;
  readonly inAll: number;
  /** The most that one owner of each kind may hold. */
  readonly shares: Readonly<Record<Kind, number>>;
}

export interface Place {
  /** May be called more than once. */
  leave(): void;
}

/** Counts against its owners, but not yet against the total. */
interface BegunPlace extends Place {
  /** The work turns out to be long, so it counts against the total. Throws `NoPlace` when the total is reached. */
  stay(): void;
}

export interface Places<Kind extends string> {
  /** Throws `NoPlace` when an owner's limit or the total is reached. */
  enter(holder: Holder<Kind>): Place;
  /** For mostly short work: while short, it counts against its owners only. */
  begin(holder: Holder<Kind>): BegunPlace;
  hasRoom(holder: Holder<Kind>): boolean;
  readonly isFull: boolean;
}

type Obstacle = 'all' | { readonly kind: string; readonly share: number };

/**
 * Limits concurrent work in total and per owner. An owner's limit shrinks as others use more, so greedy owners
 * together cannot take everything: the last places go to owners with few or none.
 */
export function createPlaces<Kind extends string>({ what, inAll, shares }: PlaceLimits<Kind>): Places<Kind> {
  const kinds = Object.entries<number>(shares).map(([kind, share]) => ({
    kind: kind as Kind,
    share,
    taken: new Map<string, number>(),
  }));
  let underWay = 0;

  /** With n greedy owners and a limit of 1/8, each gets 1/(7 + n) of all places. Every owner may hold one. */
  function shareNow(share: number, own: number): number {
    const leftByOthers = inAll - Math.max(0, underWay - own);
    return Math.max(1, Math.ceil((share * leftByOthers) / inAll));
  }

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
