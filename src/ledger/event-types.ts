import { type Amount, toDecimalText, toJsonNumber } from '../money/amount.ts';
import { assets } from '../money/catalogue.ts';
import type { Posted } from './posting.ts';

/** An account as others see it. */
interface Party {
  readonly handle: string;
  readonly name: string;
}

export type PartyOf = (accountId: bigint | null) => Party | undefined;

/** An event that webhooks can subscribe to. Each feature declares its own. */
export interface EventType {
  readonly name: string;
  /** The event's data for the posting that causes it. An event without a posting brings its own data. */
  describe?(posting: Posted, partyOf: PartyOf): Readonly<Record<string, unknown>>;
}

/** The default data of an event: the amounts, and the posting's details. */
export function describePosting(posting: Posted): Readonly<Record<string, unknown>> {
  const { fee } = posting;
  return { ...describeMoney(posting), ...(fee.atomic > 0n && { fee: jsonAmount(fee) }), ...detailsOf(posting) };
}

/** The amount before the fee, as in the history. */
export function describeMoney({ id, amount }: Posted): Readonly<Record<string, unknown>> {
  return { transferId: id, amount: jsonAmount(amount), currency: amount.asset };
}

export function detailsOf({ details }: Posted): object {
  return typeof details === 'object' && details !== null ? details : {};
}

/**
 * A number if it is exact, which holds up to fifteen digits; otherwise text, so that nothing is rounded. Assets with
 * eighteen decimals are always text, so that readers do not get text only occasionally.
 */
export function jsonAmount(amount: Amount): number | string {
  if (assets[amount.asset].decimals > 6) return toDecimalText(amount);
  try {
    return toJsonNumber(amount);
  } catch (error) {
    if (error instanceof RangeError) return toDecimalText(amount);
    throw error;
  }
}
