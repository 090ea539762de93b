import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Desk } from './desk.ts';
import { type Redemption, redeemCredential } from './redeem-credential.ts';
import { placeOrder, takeBack } from './settle-session.ts';

export interface Payments {
  /** Redeems the payment of a checkout. Resolves after the first answer; an unknown outcome is retried in the background. */
  begin(sessionId: string): Promise<void>;
  /** Stops retrying; the next start resumes. */
  stop(): Promise<void>;
}

const firstPauseMs = 250;
const longestPauseMs = 10_000;

/** Carries every payment to its end, including those that were in progress at the last stop. */
export function settlePayments(desk: Desk): Payments {
  const { books, logger } = desk;
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();

  /** Returns whether the outcome is known and stored. */
  async function ask(sessionId: string): Promise<boolean> {
    const session = books.get('session', sessionId);
    if (session?.attempt === undefined) return true;
    const redemption = await redeemCredential(desk, sessionId, session.attempt, stopping.signal);
    if (redemption.outcome === 'unknown') return false;
    if (redemption.outcome === 'redeemed' && desk.behaviour().redeemTwice) {
      await redeemCredential(desk, sessionId, { ...session.attempt, key: randomUUID() }, stopping.signal);
    }
    await books.commit(settle(sessionId, redemption));
    return true;
  }

  function settle(sessionId: string, redemption: Exclude<Redemption, { outcome: 'unknown' }>) {
    const session = books.get('session', sessionId);
    if (session?.attempt === undefined) return [];
    if (redemption.outcome === 'refused') return takeBack(session, redemption.reason, desk);
    return desk.behaviour().refuseAfterRedeeming
      ? takeBack(session, 'The payment did not pass.', desk)
      : placeOrder(session, redemption.paidBy, desk);
  }

  async function askUntilKnown(sessionId: string): Promise<void> {
    for (let pauseMs = firstPauseMs; !stopping.signal.aborted; pauseMs = Math.min(longestPauseMs, 2 * pauseMs)) {
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted || (await ask(sessionId))) return;
    }
  }

  function askOn(sessionId: string): void {
    const asking = askUntilKnown(sessionId)
      .catch((err: unknown) => logger.error({ err, sessionId }, 'the demo shop lost track of a payment'))
      .finally(() => running.delete(asking));
    running.add(asking);
  }

  for (const [id, { state }] of books.all('session')) if (state === 'completing') askOn(id);

  return {
    async begin(sessionId) {
      if (!(await ask(sessionId))) askOn(sessionId);
    },
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
