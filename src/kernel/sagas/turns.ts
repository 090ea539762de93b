/**
 * Lets only so many sagas ask one outside party at once, of all that this process could run: a shop or a chain that stays silent
 * delays the sagas that need it, and leaves the other slots of the lane to everybody else.
 */
export interface Turns {
  /** Undefined when that party has all its turns: then the saga is woken as soon as one of them ends. */
  take<Result>(
    turn: { readonly of: string; readonly id: string },
    work: () => Promise<Result>,
  ): Promise<Result | undefined>;
}

interface Busy {
  turns: number;
  /** In the order in which they came. A saga that was decided meanwhile is woken in vain. */
  readonly waiting: Set<string>;
}

/** Whoever has not taken its turn by then was decided meanwhile, or another process has it: the next one is woken. */
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
