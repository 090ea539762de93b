/** No slot became free in time. The transaction did not begin. */
export class DatabaseBusy extends Error {
  override readonly name = 'DatabaseBusy';

  constructor(kind: string) {
    super(`too many concurrent transactions (${kind})`);
  }
}

export interface SlotsOptions {
  readonly total: number;
  /** The most slots that one kind of transaction may hold. */
  readonly perKind: number;
  readonly patienceMs: number;
}

export interface Slots {
  /** Waits for a free slot, in order within a kind. Returns the function that releases it. */
  take(kind: string): Promise<() => void>;
}

interface Waiting {
  readonly kind: string;
  begin(): void;
}

/**
 * Keeps transactions from using every connection, and one kind of transaction from using every slot. When all invoice
 * payments wait for one row, other requests still find a slot.
 */
export function createSlots({ total, perKind, patienceMs }: SlotsOptions): Slots {
  const taken = new Map<string, number>();
  const waiting: Waiting[] = [];
  let free = total;

  const mayBegin = (kind: string) => free > 0 && (taken.get(kind) ?? 0) < perKind;

  function begin(kind: string): () => void {
    free--;
    taken.set(kind, (taken.get(kind) ?? 0) + 1);
    return () => {
      free++;
      const left = (taken.get(kind) ?? 1) - 1;
      if (left === 0) taken.delete(kind);
      else taken.set(kind, left);
      const next = waiting.findIndex((item) => mayBegin(item.kind));
      if (next >= 0) waiting.splice(next, 1)[0]?.begin();
    };
  }

  return {
    take(kind) {
      if (mayBegin(kind)) return Promise.resolve(begin(kind));
      return new Promise((resolve, reject) => {
        const item: Waiting = {
          kind,
          begin() {
            clearTimeout(timer);
            resolve(begin(kind));
          },
        };
        const timer = setTimeout(() => {
          waiting.splice(waiting.indexOf(item), 1);
          reject(new DatabaseBusy(kind));
        }, patienceMs);
        waiting.push(item);
      });
    },
  };
}
