import type { LedgerEvent } from '../ledger/events.ts';
import type { Posted } from '../ledger/posting.ts';
import { type Amount, subtract, toDecimalText, toJsonNumber } from '../money/amount.ts';

/** Who an account is, to those it deals with. */
interface Party {
  readonly handle: string;
  readonly name: string;
}

type PartyOf = (accountId: bigint | null) => Party | undefined;

/** What is sent of an event: built once, and sent in these bytes on every attempt and to every webhook. */
export function buildBody(event: LedgerEvent, partyOf: PartyOf): string {
  const data = event.posting === undefined ? event.data : describePosting(event.type, event.posting, partyOf);
  return bodyOf({ id: event.id, type: event.type, createdAt: event.createdAt, data });
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

/** The amount is the one before the fee, as in the history; what was left of it has a name of its own. */
function describePosting(type: string, posting: Posted, partyOf: PartyOf): Record<string, unknown> {
  const { id, amount, fee, description, details } = posting;
  const money = { transferId: id, amount: figure(amount), currency: amount.asset };
  const parted = { ...money, fee: figure(fee) };
  switch (type) {
    case 'payment.sent':
    case 'payment.received':
      return {
        ...parted,
        recipientAmount: figure(subtract(amount, fee)),
        sender: partyOf(posting.senderId),
        recipient: partyOf(posting.recipientId),
        ...(description !== null && { description }),
      };
    case 'withdrawal.created':
    case 'withdrawal.completed':
      return { ...parted, net: figure(subtract(amount, fee)), ...fields(details) };
    default:
      return { ...money, ...(fee.atomic > 0n && { fee: figure(fee) }), ...fields(details) };
  }
}

function fields(details: unknown): object {
  return typeof details === 'object' && details !== null ? details : {};
}

/** A number wherever that is exact, which it is up to fifteen digits. Beyond, text: nothing is rounded, nothing is stuck. */
function figure(amount: Amount): number | string {
  try {
    return toJsonNumber(amount);
  } catch (error) {
    if (error instanceof RangeError) return toDecimalText(amount);
    throw error;
  }
}
