import type { Amount } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import type { Payment } from '../../policies/consent.ts';

/** By which rules name a seller, the same for every spelling of the URL. */
export function hostOf(url: string): string {
  return new URL(url).host.replace(/\.(?=:|$)/, '');
}

export function paymentToSeller(url: string, amount: Amount): Payment {
  return { operation: 'call', amount, counterparty: { kind: 'endpoint', host: hostOf(url) }, chains: [homeChain] };
}
