/** Nobody made room in time. Nothing was begun. */
export class DatabaseBusy extends Error {
  override readonly name = 'DatabaseBusy';

  constructor(kind: string) {
    super(`too many transactions (${kind}) are under way already`);
  }
}

export interface SlotsOptions {
  readonly total: number;
  /** How many of them one kind may have at once. */
  readonly perKind: number;
  readonly patienceMs: number;
}

export interface Slots {
  /** Waits for a free slot, first come first served within a kind. Answers how to give it back. */
  take(kind: string): Promise<() => void>;
}

interface Waiting {
  readonly kind: string;
  begin(): void;
}

/**
 * Keeps transactions from taking every connection, and one kind of them from taking every slot: when all who pay invoices
 * wait for one row, the others still find room.
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
