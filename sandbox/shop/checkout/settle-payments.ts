import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { signRequest } from '../../../src/kernel/signing/sign-request.ts';
import { type Fields, fieldsOf } from '../ucp-versions.ts';
import type { Desk } from './desk.ts';
import { type Attempt, type BookChange, chosenOption, type Order, type Session, totalOf } from './session.ts';

/** Anything but a clear answer is `unknown` and is retried. */
type Redemption =
  | { readonly outcome: 'redeemed'; readonly paidBy: string }
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'unknown' };

const patienceMs = 5_000;

/** Status codes that say nothing about the payment. */
const comeBack = new Set([408, 424, 425, 429]);

/** Redeems a credential with its issuer, idempotently under the same key. */
async function redeemCredential(
  { publicUrl, signingKey, domain }: Desk,
  checkoutId: string,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<Redemption> {
  const { key, token, amount, currency } = attempt;
  try {
    const url = `${publicUrl()}/api/shopping/credentials/redeem`;
    const body = JSON.stringify({ token, checkout_id: checkoutId, amount, currency });
    const headers = {
      'Content-Type': 'application/json',
      'UCP-Agent': `profile="http://${domain}/.well-known/ucp"`,
      'Idempotency-Key': key,
    };
    const signed = signRequest({ method: 'POST', url, headers, body }, await signingKey());
    const reply = await fetch(url, {
      method: 'POST',
      headers: { ...headers, ...signed },
      body,
      redirect: 'error',
      signal: AbortSignal.any([AbortSignal.timeout(patienceMs), signal]),
    });
    return readRedemption(reply.status, fieldsOf(await reply.json()), { ...attempt, checkoutId });
  } catch {
    return { outcome: 'unknown' };
  }
}

function readRedemption(status: number, told: Fields, asked: Attempt & { readonly checkoutId: string }): Redemption {
  if (status === 200) {
    const agrees =
      told['status'] === 'redeemed' &&
      told['checkout_id'] === asked.checkoutId &&
      told['amount'] === asked.amount &&
      told['currency'] === asked.currency;
    return agrees ? { outcome: 'redeemed', paidBy: String(told['order_id']) } : { outcome: 'unknown' };
  }
  if (status < 400 || status >= 500 || comeBack.has(status) || told['code'] === 'idempotency_in_progress') {
    return { outcome: 'unknown' };
  }
  const why = told['detail'] ?? told['title'] ?? told['code'];
  return {
    outcome: 'refused',
    reason: typeof why === 'string' ? why.slice(0, 300) : `Paying was refused (${status}).`,
  };
}

const firstNumber = 1_001;

/** Records the order and completes the checkout. */
function placeOrder(session: Session, paidBy: string, { books, clock }: Desk): readonly BookChange[] {
  const { lines, currency, destination } = session;
  const option = chosenOption(session);
  const order: Order = {
    id: `HH-${firstNumber + books.count('order')}`,
    checkoutId: session.id,
    lines,
    currency,
    shipping: option?.title ?? '',
    shippingCents: option?.cents ?? 0,
    totalCents: totalOf(session),
    name: [destination?.first_name, destination?.last_name].filter(Boolean).join(' '),
    city: destination?.address_locality ?? '',
    placedAt: clock.now(),
    paidBy,
  };
  const ended: Session = { ...session, state: 'completed', attempt: undefined, orderId: order.id };
  return [
    ['order', order.id, order],
    ['session', session.id, ended],
  ];
}

/** Returns the stock and reopens the checkout for another payment. */
function takeBack(session: Session, why: string, { shelf }: Desk): readonly BookChange[] {
  const open: Session = { ...session, state: 'open', attempt: undefined, paymentRefused: why };
  return [...shelf.putBack(session.lines), ['session', session.id, open]];
}

export type Payments = ReturnType<typeof settlePayments>;

const firstPauseMs = 250;
const longestPauseMs = 10_000;

/** Carries every payment to its end, including those that were in progress at the last stop. */
export function settlePayments(desk: Desk) {
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
    /** Resolves after the first answer; an unknown outcome is retried in the background. */
    async begin(sessionId: string): Promise<void> {
      if (!(await ask(sessionId))) askOn(sessionId);
    },
    /** Stops retrying; the next start resumes. */
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
