import type { OnRamp, Purchase } from './on-ramp.ts';
import type { FundingPageView } from './page-view.ts';

export function sellersFor(onRamps: readonly OnRamp[], { chain, amount }: FundingPageView): readonly OnRamp[] {
  return onRamps.filter((onRamp) => onRamp.sells(chain, amount.asset));
}

/** Returns the card company's URL. Each click starts a new session, because sessions are short-lived and single-use. */
export async function beginPurchase(
  onRamp: OnRamp,
  { id, amount, chain, address }: FundingPageView,
  { returnUrl, clientIp }: Pick<Purchase, 'returnUrl' | 'clientIp'>,
): Promise<string> {
  if (address === null) throw new Error(`the link ${id} has no address to send to`);
  return onRamp.begin({ reference: id, amount, chain, address, returnUrl, clientIp });
}
