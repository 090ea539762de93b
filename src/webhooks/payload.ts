import { describePosting, type EventType, type PartyOf } from '../ledger/event-types.ts';
import type { LedgerEvent } from '../ledger/events.ts';

/** What is sent of an event: built once, and sent in these bytes on every attempt and to every webhook. */
export function buildBody(event: LedgerEvent, types: readonly EventType[], partyOf: PartyOf): string {
  return bodyOf({ id: event.id, type: event.type, createdAt: event.createdAt, data: dataOf(event, types, partyOf) });
}

/** A type that nobody declares was recorded by another release: it is told like any other posting. */
function dataOf({ type, posting, data }: LedgerEvent, types: readonly EventType[], partyOf: PartyOf): unknown {
  if (posting === undefined) return data;
  const declared = types.find(({ name }) => name === type);
  return declared?.describe?.(posting, partyOf) ?? describePosting(posting);
}

export function bodyOf(event: {
  readonly id: string;
  readonly type: string;
  readonly createdAt: Date;
  readonly data: unknown;
}): string {
  const { id, type, createdAt, data } = event;
  return JSON.stringify({ id, type, createdAt: createdAt.toISOString(), data });
}
