import type { Wakes } from '../../kernel/jobs/wakes.ts';
import { topicOf } from './approval.ts';

/** Of this process, and of one account. Beyond them a request is answered at once. */
const mostWaiting = 1_000;
const mostOfAccount = 10;

interface Waiting {
  readonly id: string;
  readonly accountId: bigint;
  readonly ms: number;
}

/** Waits until an approval has ended, or until its time is over. */
export type AwaitDecision = (waiting: Waiting, hasEnded: () => Promise<boolean>) => Promise<void>;

/** A stopping service answers at once. */
export function createAwaitDecision(wakes: Wakes, stopping: AbortSignal): AwaitDecision {
  const waiting = new Map<bigint, number>();
  let inAll = 0;

  return async ({ id, accountId, ms }, hasEnded) => {
    const others = waiting.get(accountId) ?? 0;
    if (ms <= 0 || stopping.aborted || inAll >= mostWaiting || others >= mostOfAccount) return;
    inAll++;
    waiting.set(accountId, others + 1);
    try {
      await untilEnded({ wakes, stopping }, { id, ms }, hasEnded);
    } finally {
      inAll--;
      const left = (waiting.get(accountId) ?? 1) - 1;
      if (left === 0) waiting.delete(accountId);
      else waiting.set(accountId, left);
    }
  };
}

/** Listens first and looks then, so that a decision between the two is not missed. */
async function untilEnded(
  { wakes, stopping }: { readonly wakes: Wakes; readonly stopping: AbortSignal },
  { id, ms }: Pick<Waiting, 'id' | 'ms'>,
  hasEnded: () => Promise<boolean>,
): Promise<void> {
  let wake = () => {};
  const woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const off = wakes.on(topicOf(id), wake);
  stopping.addEventListener('abort', wake);
  // While notifications do not arrive, a decision is seen when the time is over.
  const timer = setTimeout(wake, ms);
  try {
    if (!(await hasEnded())) await woken;
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', wake);
    off();
  }
}
