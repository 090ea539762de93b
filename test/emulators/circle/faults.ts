/** How a request goes wrong. */
export type Trouble =
  | { readonly how: 'rate-limit'; readonly retryAfterSeconds?: number }
  | { readonly how: 'server-error'; readonly status?: number }
  | { readonly how: 'refuse'; readonly status: number; readonly code: number; readonly message?: string }
  /** The connection breaks before anything is done. */
  | { readonly how: 'drop' }
  /** Everything is done, and the connection breaks before the answer. */
  | { readonly how: 'lose-answer' }
  /** Nothing is done, and no answer ever comes. With `until`, the connection breaks then. */
  | { readonly how: 'hang'; readonly until?: Promise<void> }
  /** A page of somebody in between. */
  | { readonly how: 'nonsense' };

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

interface Fault {
  readonly trouble: Trouble;
  /** How many requests it hits; one when it is left out. */
  readonly times?: number;
  /** Which requests; all of them when it is left out. */
  readonly on?: (request: Request) => boolean;
}

export interface Faults {
  next(fault: Fault): void;
  clear(): void;
  take(request: Request): Trouble | undefined;
}

export function createFaults(): Faults {
  let waiting: { fault: Fault; left: number }[] = [];
  return {
    next(fault) {
      waiting.push({ fault, left: fault.times ?? 1 });
    },
    clear() {
      waiting = [];
    },
    take(request) {
      const hit = waiting.find(({ fault, left }) => left > 0 && (fault.on?.(request) ?? true));
      if (hit === undefined) return undefined;
      hit.left--;
      return hit.fault.trouble;
    },
  };
}
