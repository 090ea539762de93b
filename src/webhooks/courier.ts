import type { Clock } from '../clock.ts';
import type { Claimed, DueWebhook } from './claim.ts';
import type { Attempted } from './record-results.ts';
import { afterAttempt, type Lane, laneSlots, newcomer, requestsAtOnce, type Standing } from './standing.ts';

export interface CourierOptions {
  attempt(webhook: DueWebhook, delivery: Claimed): Promise<Attempted>;
  onResult(result: Attempted): void;
  /** What waited too long to be begun within its lease. */
  onReturn(delivery: Claimed): void;
  /** A receiver that has more waiting could be given more. */
  onRoom(): void;
  /** How long a delivery may wait here before it is too late to begin. */
  readonly patienceMs: number;
  readonly clock: Clock;
}

export interface Courier {
  /** How many deliveries more may be claimed for each of these webhooks. */
  plan(webhooks: readonly DueWebhook[]): { readonly webhookId: string; readonly most: number }[];
  /** Carries them out; `full` names the webhooks that got all they were planned. */
  take(webhooks: ReadonlyMap<string, DueWebhook>, deliveries: readonly Claimed[], full: ReadonlySet<string>): void;
  /** Begins nothing more. Answers with what was not begun, once nothing is under way or so much time has passed. */
  stop(graceMs: number): Promise<readonly Claimed[]>;
}

/** Deliveries held in each lane, under way and next, for all receivers together. */
const mostHeld: Readonly<Record<Lane, number>> = { quick: 1_500, slow: 500 };

/** Requests begun before whatever else the process does has its turn: a backlog must not slow down those who pay. */
const beginsPerTurn = 8;

/** Receivers of whom we remember how quick they were. */
const mostRemembered = 10_000;

interface Desk {
  webhook: DueWebhook;
  standing: Standing;
  readonly queue: { readonly delivery: Claimed; readonly beginBy: number; readonly heldIn: Lane }[];
  underWay: number;
  /** Whether more may be waiting in the database. */
  more: boolean;
}

/**
 * Sends what it is given, to many receivers side by side. Each has a bounded number of requests under way, and slow ones
 * share slots of their own: nobody waits for somebody else's receiver.
 */
export function createCourier(options: CourierOptions): Courier {
  const { clock } = options;
  const desks = new Map<string, Desk>();
  /** Those with a queue, in the order in which they get the next free slot. */
  const waiting = new Set<Desk>();
  const underWay = { quick: 0, slow: 0 };
  const held = { quick: 0, slow: 0 };
  let stopped = false;
  let soon = false;
  let onIdle = () => {};

  function deskOf(webhook: DueWebhook): Desk {
    const known = desks.get(webhook.id);
    if (known !== undefined) return known;
    if (desks.size >= mostRemembered) {
      for (const [id, { underWay: busy, queue }] of desks) if (busy === 0 && queue.length === 0) desks.delete(id);
    }
    const desk: Desk = { webhook, standing: newcomer, queue: [], underWay: 0, more: false };
    desks.set(webhook.id, desk);
    return desk;
  }

  function begin(desk: Desk): boolean {
    const { lane } = desk.standing;
    if (desk.underWay >= requestsAtOnce(desk.standing) || underWay[lane] >= laneSlots[lane]) return false;
    const next = desk.queue.shift();
    if (next === undefined) return false;
    if (clock.now() > next.beginBy) {
      held[next.heldIn]--;
      options.onReturn(next.delivery);
      return true;
    }
    desk.underWay++;
    underWay[lane]++;
    void options.attempt(desk.webhook, next.delivery).then((result) => {
      desk.underWay--;
      underWay[lane]--;
      held[next.heldIn]--;
      desk.standing = afterAttempt(desk.standing, result.durationMs);
      options.onResult(result);
      serveSoon();
      if (desk.more && desk.queue.length + desk.underWay <= desk.standing.window / 2) {
        desk.more = false;
        options.onRoom();
      }
      if (underWay.quick + underWay.slow === 0) onIdle();
    });
    return true;
  }

  function serveSoon(): void {
    if (soon || stopped || waiting.size === 0) return;
    soon = true;
    setImmediate(() => {
      soon = false;
      serve();
    });
  }

  /** Whoever was served goes to the end of the line. */
  function serve(): void {
    if (stopped) return;
    let left = beginsPerTurn;
    for (const desk of [...waiting]) {
      if (left === 0) break;
      if (!begin(desk)) continue;
      left--;
      while (left > 0 && begin(desk)) left--;
      waiting.delete(desk);
      if (desk.queue.length > 0) waiting.add(desk);
    }
    if (left === 0) serveSoon();
  }

  return {
    plan(webhooks) {
      const room = { quick: mostHeld.quick - held.quick, slow: mostHeld.slow - held.slow };
      return webhooks.flatMap((webhook) => {
        const desk = deskOf(webhook);
        const { lane, window } = desk.standing;
        const most = Math.min(window - desk.underWay - desk.queue.length, room[lane]);
        if (most <= 0 || underWay[lane] >= laneSlots[lane]) {
          desk.more = true;
          return [];
        }
        room[lane] -= most;
        return [{ webhookId: webhook.id, most }];
      });
    },
    take(webhooks, deliveries, full) {
      const beginBy = clock.now() + options.patienceMs;
      for (const delivery of deliveries) {
        const webhook = webhooks.get(delivery.webhookId);
        if (webhook === undefined) continue;
        const desk = deskOf(webhook);
        desk.more = full.has(webhook.id);
        desk.queue.push({ delivery, beginBy, heldIn: desk.standing.lane });
        waiting.add(desk);
        held[desk.standing.lane]++;
      }
      serveSoon();
    },
    async stop(graceMs) {
      stopped = true;
      const unbegun = [...waiting].flatMap(({ queue }) => queue.splice(0).map(({ delivery }) => delivery));
      if (underWay.quick + underWay.slow > 0) {
        let timer: NodeJS.Timeout | undefined;
        await new Promise<void>((resolve) => {
          onIdle = resolve;
          timer = setTimeout(resolve, graceMs);
        });
        clearTimeout(timer);
      }
      return unbegun;
    },
  };
}
