import { type Amount, toDecimalText, toJsonNumber } from '../money/amount.ts';
import { assets } from '../money/catalogue.ts';
import type { Posted } from './posting.ts';

/** Who an account is, to those it deals with. */
interface Party {
  readonly handle: string;
  readonly name: string;
}

export type PartyOf = (accountId: bigint | null) => Party | undefined;

/** Something that a webhook may be registered for. Each feature declares its own. */
export interface EventType {
  readonly name: string;
  /** What is told of the posting that causes it. An event that no posting causes brings its own data. */
  describe?(posting: Posted, partyOf: PartyOf): Readonly<Record<string, unknown>>;
}

/** What is told of a posting unless its event says otherwise: the money, and what the posting says of itself. */
export function describePosting(posting: Posted): Readonly<Record<string, unknown>> {
  const { fee } = posting;
  return { ...describeMoney(posting), ...(fee.atomic > 0n && { fee: figure(fee) }), ...detailsOf(posting) };
}

/** The amount is the one before the fee, as in the history. */
export function describeMoney({ id, amount }: Posted): Readonly<Record<string, unknown>> {
  return { transferId: id, amount: figure(amount), currency: amount.asset };
}

export function detailsOf({ details }: Posted): object {
  return typeof details === 'object' && details !== null ? details : {};
}

/**
 * A number where that is exact, which it is up to fifteen digits. Beyond, text: nothing is rounded, nothing is stuck. What has
 * eighteen decimals is always text, so that nobody meets a text only now and then.
 */
export function figure(amount: Amount): number | string {
  if (assets[amount.asset].decimals > 6) return toDecimalText(amount);
  try {
    return toJsonNumber(amount);
  } catch (error) {
    if (error instanceof RangeError) return toDecimalText(amount);
    throw error;
  }
}
