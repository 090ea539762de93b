import type { Clock } from '../kernel/clock.ts';
import { createPlaces, type Place, type Places } from '../kernel/places/places.ts';
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

/** One account's part of either: a quick receiver of one webhook gets all the requests that it could get alone. */
const partOfAccount = 1 / 8;

/** Requests begun before whatever else the process does has its turn: a backlog must not slow down those who pay. */
const beginsPerTurn = 8;

/** Receivers of whom we remember how quick they were. */
const mostRemembered = 10_000;

interface Desk {
  webhook: DueWebhook;
  standing: Standing;
  readonly queue: { readonly delivery: Claimed; readonly beginBy: number; readonly held: Place }[];
  underWay: number;
  /** Kept for what is being claimed: its lane may be another one by the time it is here, and others may have taken the room. */
  planned: Place[];
  /** Whether more may be waiting in the database. */
  more: boolean;
}

/**
 * Sends what it is given, to many receivers side by side. Each receiver and each account has a bounded number of requests under
 * way, and slow receivers share slots of their own: no account waits for the receivers of another.
 */
export function createCourier(options: CourierOptions): Courier {
  const { clock } = options;
  const desks = new Map<string, Desk>();
  /** Those with a queue, in the order in which they get the next free slot. */
  const waiting = new Set<Desk>();
  /** Those for which deliveries are being claimed. */
  const planning = new Set<Desk>();
  const slots = placesOf('requests', laneSlots);
  const holding = placesOf('deliveries', mostHeld);
  let underWay = 0;
  let stopped = false;
  let soon = false;
  let onIdle = () => {};

  function deskOf(webhook: DueWebhook): Desk {
    const known = desks.get(webhook.id);
    if (known !== undefined) return known;
    if (desks.size >= mostRemembered) {
      for (const [id, { underWay: busy, queue, planned }] of desks) {
        if (busy === 0 && queue.length === 0 && planned.length === 0) desks.delete(id);
      }
    }
    const desk: Desk = { webhook, standing: newcomer, queue: [], underWay: 0, planned: [], more: false };
    desks.set(webhook.id, desk);
    return desk;
  }

  function begin(desk: Desk): boolean {
    const lane = slots[desk.standing.lane];
    const holder = holderOf(desk.webhook);
    if (desk.underWay >= requestsAtOnce(desk.standing) || !lane.hasRoom(holder)) return false;
    const next = desk.queue.shift();
    if (next === undefined) return false;
    if (clock.now() > next.beginBy) {
      next.held.leave();
      options.onReturn(next.delivery);
      return true;
    }
    desk.underWay++;
    underWay++;
    const slot = lane.enter(holder);
    void options.attempt(desk.webhook, next.delivery).then((result) => {
      desk.underWay--;
      underWay--;
      slot.leave();
      next.held.leave();
      desk.standing = afterAttempt(desk.standing, result.durationMs);
      options.onResult(result);
      serveSoon();
      if (desk.more && desk.queue.length + desk.underWay <= desk.standing.window / 2) {
        desk.more = false;
        options.onRoom();
      }
      if (underWay === 0) onIdle();
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

  /** What was planned and not claimed is free again. */
  function dropPlans(): void {
    for (const desk of planning) for (const place of desk.planned.splice(0)) place.leave();
    planning.clear();
  }

  return {
    plan(webhooks) {
      dropPlans();
      return webhooks.flatMap((webhook) => {
        const desk = deskOf(webhook);
        const { lane, window } = desk.standing;
        const wanted = slots[lane].isFull ? 0 : window - desk.underWay - desk.queue.length;
        const room = enterMany(holding[lane], holderOf(webhook), wanted);
        if (room.length === 0) {
          desk.more = true;
          return [];
        }
        desk.planned = room;
        planning.add(desk);
        return [{ webhookId: webhook.id, most: room.length }];
      });
    },
    take(webhooks, deliveries, full) {
      const beginBy = clock.now() + options.patienceMs;
      for (const delivery of deliveries) {
        const webhook = webhooks.get(delivery.webhookId);
        if (webhook === undefined) continue;
        const desk = deskOf(webhook);
        desk.more = full.has(webhook.id);
        const held = desk.planned.pop() ?? enterMany(holding[desk.standing.lane], holderOf(webhook), 1)[0];
        if (held === undefined) {
          options.onReturn(delivery);
          continue;
        }
        desk.queue.push({ delivery, beginBy, held });
        waiting.add(desk);
      }
      dropPlans();
      serveSoon();
    },
    async stop(graceMs) {
      stopped = true;
      const unbegun = [...waiting].flatMap(({ queue }) => queue.splice(0).map(({ delivery }) => delivery));
      if (underWay > 0) {
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

type AccountPlaces = Places<'account'>;

function placesOf(what: string, inAll: Readonly<Record<Lane, number>>): Readonly<Record<Lane, AccountPlaces>> {
  const open = (most: number) =>
    createPlaces({ what, inAll: most, shares: { account: Math.ceil(most * partOfAccount) } });
  return { quick: open(inAll.quick), slow: open(inAll.slow) };
}

function holderOf({ accountId }: DueWebhook): { readonly account: string } {
  return { account: String(accountId) };
}

function enterMany(places: AccountPlaces, holder: { readonly account: string }, most: number): Place[] {
  const taken: Place[] = [];
  while (taken.length < most && places.hasRoom(holder)) taken.push(places.enter(holder));
  return taken;
}
