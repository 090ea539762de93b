import { describePosting, type EventType, type PartyOf } from '../ledger/event-types.ts';
import type { LedgerEvent } from '../ledger/events.ts';

/** The body of an event. It is built once, so that every attempt and every webhook gets the same bytes. */
export function buildBody(event: LedgerEvent, types: readonly EventType[], partyOf: PartyOf): string {
  return bodyOf({ ...event, data: dataOf(event, types, partyOf) });
}

/** An undeclared type was recorded by another release; it is described like any other posting. */
function dataOf({ type, posting, data }: LedgerEvent, types: readonly EventType[], partyOf: PartyOf): unknown {
  if (posting === undefined) return data;
  const declared = types.find(({ name }) => name === type);
  return declared?.describe?.(posting, partyOf) ?? describePosting(posting);
}

type Sent = Pick<LedgerEvent, 'id' | 'type' | 'createdAt'> & { readonly data: unknown };

export function bodyOf({ id, type, createdAt, data }: Sent): string {
  return JSON.stringify({ id, type, createdAt: createdAt.toISOString(), data });
}
