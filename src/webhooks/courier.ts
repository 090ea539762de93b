import { type Clock, within } from '../kernel/clock.ts';
import { createPlaces, type Place, type Places } from '../kernel/places/places.ts';
import type { Claimed, DueWebhook } from './claim.ts';
import type { Attempted } from './recorder.ts';

/**
 * A receiver's limits, derived from its recent response times. A fast receiver gets a growing window; a slow one moves to a lane
 * of its own.
 */
interface Standing {
  readonly lane: Lane;
  /** How many deliveries may be in memory for it, queued or in progress. */
  readonly window: number;
}

type Lane = 'quick' | 'slow';

/** Concurrent requests per lane. One account gets at most an eighth of them. */
export const laneSlots: Readonly<Record<Lane, number>> = { quick: 256, slow: 256 };

/** Concurrent requests to one receiver, whatever its window. */
const mostRequests = 32;

const firstWindow = 4;
const widestWindow = 128;

/** A slower receiver holds its slots long enough to delay others. */
const slowMs = 2_000;

const newcomer: Standing = { lane: 'quick', window: firstWindow };

/** Only the duration counts, because a fast failure delays no other delivery. */
function afterAttempt({ lane, window }: Standing, durationMs: number): Standing {
  if (durationMs >= slowMs) return { lane: 'slow', window: firstWindow };
  if (lane === 'slow') return newcomer;
  return { lane, window: Math.min(window + 1, widestWindow) };
}

export interface CourierOptions {
  attempt(webhook: DueWebhook, delivery: Claimed): Promise<Attempted>;
  onResult(result: Attempted): void;
  /** Called for a delivery that waited too long to be attempted within its lease. */
  onReturn(delivery: Claimed): void;
  /** Called when a receiver with a backlog has room for more deliveries. */
  onRoom(): void;
  /** Whether requests of the API need the processor more urgently. */
  isBusy?(): boolean;
  /** How long a delivery may wait before its lease is too short for an attempt. */
  readonly patienceMs: number;
  readonly clock: Clock;
}

export interface Courier {
  /** How many more deliveries to claim for each of these webhooks. */
  plan(webhooks: readonly DueWebhook[]): { readonly webhookId: string; readonly most: number }[];
  /** Queues claimed deliveries. `full` names the webhooks that got as many as planned. */
  take(webhooks: ReadonlyMap<string, DueWebhook>, deliveries: readonly Claimed[], full: ReadonlySet<string>): void;
  /** Starts no more attempts. Resolves with the deliveries not attempted, once all attempts have ended or after `graceMs`. */
  stop(graceMs: number): Promise<readonly Claimed[]>;
}

/** Deliveries in memory per lane, queued or in progress. */
const mostHeld: Readonly<Record<Lane, number>> = { quick: 1_500, slow: 500 };

/** One account's share of a lane. It still allows one fast receiver its maximum of requests. */
const partOfAccount = 1 / 8;

/** Attempts started before the event loop gets a turn, so that a backlog does not delay API requests. */
const beginsPerTurn = 8;

/** While the API is busy, one attempt begins in this time: a backlog then costs transfers a small share, and not half. */
const busyPauseMs = 5;

/** Receivers whose speed is remembered. */
const mostRemembered = 10_000;

interface Desk {
  webhook: DueWebhook;
  standing: Standing;
  readonly queue: { readonly delivery: Claimed; readonly beginBy: number; readonly held: Place }[];
  underWay: number;
  /** Places reserved for deliveries being claimed. The receiver's lane can change meanwhile, and others could take the room. */
  planned: Place[];
  /** Whether the database may hold more due deliveries. */
  more: boolean;
}

/**
 * Sends deliveries to many receivers in parallel. Each receiver and each account has a limit of concurrent requests, and slow
 * receivers have their own slots, so no account waits for another account's receivers.
 */
export function createCourier(options: CourierOptions): Courier {
  const { clock } = options;
  const desks = new Map<string, Desk>();
  /** Desks with a queue, in the order in which they get the next free slot. */
  const waiting = new Set<Desk>();
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
    if (desk.underWay >= Math.min(desk.standing.window, mostRequests) || !lane.hasRoom(holder)) return false;
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
    const next = () => {
      soon = false;
      serve();
    };
    if (options.isBusy?.() === true) setTimeout(next, busyPauseMs);
    else setImmediate(next);
  }

  /** A desk that was served goes to the end of the line. */
  function serve(): void {
    if (stopped) return;
    let left = options.isBusy?.() === true ? 1 : beginsPerTurn;
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
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve;
      });
      if (underWay > 0) await within(graceMs, idle, () => {});
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
