import { createPlaces, type Holder, NoPlace, type Place, type PlaceLimits } from './places.ts';

export interface PlaceQueueLimits<Kind extends string> extends PlaceLimits<Kind> {
  /** How many may wait, and for how long. */
  readonly waiting: Omit<PlaceLimits<Kind>, 'what'> & { readonly patienceMs: number };
}

export interface PlaceQueue<Kind extends string> {
  /** Waits for a place. Rejects with `NoPlace` after a timeout, or at once when too many of the owner's requests already wait. */
  enter(holder: Holder<Kind>): Promise<Place>;
}

interface Waiting<Kind extends string> {
  readonly holder: Holder<Kind>;
  comeIn(place: Place): void;
}

/** For work that should rather wait than be refused. A free place goes to the first in the queue whose owner is below its limit. */
export function createPlaceQueue<Kind extends string>(limits: PlaceQueueLimits<Kind>): PlaceQueue<Kind> {
  const places = createPlaces(limits);
  const chairs = createPlaces({ ...limits.waiting, what: limits.what });
  const line = new Set<Waiting<Kind>>();

  function enterNow(holder: Holder<Kind>): Place {
    const place = places.enter(holder);
    return {
      leave() {
        place.leave();
        letIn();
      },
    };
  }

  function letIn(): void {
    for (const one of line) {
      if (places.isFull) return;
      if (places.hasRoom(one.holder)) one.comeIn(enterNow(one.holder));
    }
  }

  function wait(holder: Holder<Kind>, refusal: NoPlace): Promise<Place> {
    return new Promise((resolve, reject) => {
      const chair = chairs.enter(holder);
      const stand = () => {
        clearTimeout(timer);
        line.delete(one);
        chair.leave();
      };
      const one: Waiting<Kind> = {
        holder,
        comeIn(place) {
          stand();
          resolve(place);
        },
      };
      const timer = setTimeout(() => {
        stand();
        reject(refusal);
      }, limits.waiting.patienceMs);
      line.add(one);
    });
  }

  return {
    async enter(holder) {
      try {
        return enterNow(holder);
      } catch (error) {
        if (!(error instanceof NoPlace)) throw error;
        return wait(holder, error);
      }
    },
  };
}
