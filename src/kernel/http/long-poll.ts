import { z } from 'zod';
import type { Wakes } from '../jobs/wakes.ts';
import { createPlaces } from '../places/places.ts';

const range = 'must be a whole number of seconds from 0 to 30';

/** In the query of a request that may wait for what it asks for. */
export const waitField = z
  .string()
  .regex(/^\d{1,2}$/, range)
  .transform(Number)
  .refine((value) => value <= 30, range)
  .default(0);

/** In this process, and of one account. Beyond them a request is answered at once. */
const mostWaiting = 1_000;
const mostOfAccount = 10;

interface Waiting {
  /** The topic of the notification that ends the waiting. */
  readonly topic: string;
  readonly accountId: bigint;
  readonly ms: number;
  /** Aborted when the client has hung up. */
  readonly gone: AbortSignal;
}

/** Waits until something is there for a request, or until the request's time is over. */
export type LongPoll = (waiting: Waiting, isThere: () => Promise<boolean>) => Promise<void>;

/** A stopping service answers at once. A client that hangs up gives its place back. */
export function createLongPoll(wakes: Wakes, stopping: AbortSignal): LongPoll {
  const places = createPlaces({ what: 'waiting requests', inAll: mostWaiting, shares: { account: mostOfAccount } });
  return async ({ topic, accountId, ms, gone }, isThere) => {
    const holder = { account: String(accountId) };
    if (ms <= 0 || stopping.aborted || !places.hasRoom(holder)) return;
    const place = places.enter(holder);
    try {
      await untilThere({ wakes, ends: [stopping, gone] }, { topic, ms }, isThere);
    } finally {
      place.leave();
    }
  };
}

/** Listens first and looks then, so that what comes between the two is not missed. */
async function untilThere(
  { wakes, ends }: { readonly wakes: Wakes; readonly ends: readonly AbortSignal[] },
  { topic, ms }: Pick<Waiting, 'topic' | 'ms'>,
  isThere: () => Promise<boolean>,
): Promise<void> {
  let wake = () => {};
  const woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const off = wakes.on(topic, wake);
  for (const end of ends) end.addEventListener('abort', wake);
  // While notifications do not arrive, the answer comes when the time is over.
  const timer = setTimeout(wake, ms);
  try {
    if (!(await isThere()) && !ends.some(({ aborted }) => aborted)) await woken;
  } finally {
    clearTimeout(timer);
    for (const end of ends) end.removeEventListener('abort', wake);
    off();
  }
}
