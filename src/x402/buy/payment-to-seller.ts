import { createHash } from 'node:crypto';
import { type Amount, add, toText } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import type { Fact, Payment } from '../../policies/consent.ts';
import type { SellerRequest } from './ask-seller.ts';

/** By which rules name a seller, the same for every spelling of the URL. */
export function hostOf(url: string): string {
  return new URL(url).host.replace(/\.(?=:|$)/, '');
}

function toSeller(url: string, amount: Amount): Payment {
  return { operation: 'call', amount, counterparty: { kind: 'endpoint', host: hostOf(url) }, chains: [homeChain] };
}

/** Before the seller was asked for its price. */
export function mostToSeller(url: string, maximum: Amount): Payment {
  return { ...toSeller(url, maximum), isMost: true };
}

interface PricedCall {
  readonly request: SellerRequest;
  readonly price: Amount;
  readonly fee: Amount;
  readonly payTo: string;
}

export function paymentToSeller(call: PricedCall): Payment {
  const { request, price, fee } = call;
  return { ...toSeller(request.url, add(price, fee)), facts: () => callFacts(call) };
}

function callFacts({ request: { method, url, headers, body }, price, fee, payTo }: PricedCall): readonly Fact[] {
  const content = createHash('sha256')
    .update(JSON.stringify([headers, body]))
    .digest('hex');
  return [
    { label: 'Call', text: `${method} ${url}` },
    ...(body === undefined ? [] : [{ label: 'Sends', text: body.slice(0, mostShown), quoted: true as const }]),
    { label: 'Price', text: toText(price) },
    { label: 'Fee', text: toText(fee) },
    { label: 'Pays to', text: payTo },
    { label: 'Content', text: `SHA-256 ${content}` },
  ];
}

/** Of the body. The hash of the content stands for all of it. */
const mostShown = 300;
