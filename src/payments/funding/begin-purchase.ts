import type { OnRamp, Purchase } from './on-ramp.ts';
import type { FundingPageView } from './page-view.ts';

/** Those who can sell what this link asks for. */
export function sellersFor(onRamps: readonly OnRamp[], { chain, amount }: FundingPageView): readonly OnRamp[] {
  return onRamps.filter((onRamp) => onRamp.sells(chain, amount.asset));
}

/** Where the person goes to pay by card. Begun anew at each click, because such sessions are short and for one use. */
export async function beginPurchase(
  onRamp: OnRamp,
  { id, amount, chain, address }: FundingPageView,
  { returnUrl, clientIp }: Pick<Purchase, 'returnUrl' | 'clientIp'>,
): Promise<string> {
  if (address === null) throw new Error(`the link ${id} has no address to send to`);
  return onRamp.begin({ reference: id, amount, chain, address, returnUrl, clientIp });
}
