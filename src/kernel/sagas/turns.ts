/**
 * Limits how many sagas of this process call one external party at a time. A silent shop or chain delays only the sagas that need it,
 * and leaves the lane's other slots free.
 */
export interface Turns {
  /** Undefined when the party has no free turn. The saga is woken when one ends. */
  take<Result>(
    turn: { readonly of: string; readonly id: string },
    work: () => Promise<Result>,
  ): Promise<Result | undefined>;
}

interface Busy {
  turns: number;
  /** First come, first served. */
  readonly waiting: Set<string>;
}

/** A woken saga that does not take its turn within this time has finished or runs elsewhere, so the next one is woken. */
const comesWithinMs = 1_000;

export function createTurns({ most, wake }: { readonly most: number; wake(id: string): Promise<void> }): Turns {
  const parties = new Map<string, Busy>();

  async function end(of: string, party: Busy): Promise<void> {
    party.turns--;
    await wakeNext(party);
    if (party.turns === 0 && party.waiting.size === 0) parties.delete(of);
  }

  async function wakeNext(party: Busy): Promise<void> {
    const [next] = party.waiting;
    if (next === undefined || party.turns >= most) return;
    party.waiting.delete(next);
    setTimeout(() => void wakeNext(party), comesWithinMs).unref();
    await wake(next);
  }

  return {
    async take({ of, id }, work) {
      const party = parties.get(of) ?? { turns: 0, waiting: new Set() };
      if (party.turns >= most) {
        party.waiting.add(id);
        return undefined;
      }
      parties.set(of, party);
      party.turns++;
      party.waiting.delete(id);
      return work().finally(() => end(of, party));
    },
  };
}
