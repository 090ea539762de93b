import type { FundingPageView } from '../../payments/funding/page-view.ts';
import { type Html, html } from '../html.ts';
import { amountText } from '../words.ts';
import type { BuyView } from './view.ts';

/** How far the payment has come, in four steps, and whatever else is to be known. The live part of the page. */
export function progress(view: BuyView): Html {
  const { link } = view;
  const reached = steps.findIndex(({ status }) => status === link.status);
  return html`<ol class="steps">${steps.map(
    ({ title }, place) =>
      html`<li class="${stepClass(place, reached)}"${place === reached && html` aria-current="step"`}>${title}</li>`,
  )}</ol>
<p class="now">${now(view)}</p>
${remarks(link).map((remark) => html`<p class="remark">${remark}</p>`)}`;
}

const steps = [
  { status: 'open', title: 'Waiting' },
  { status: 'seen', title: 'Seen' },
  { status: 'confirmed', title: 'Confirmed' },
  { status: 'completed', title: 'Credited' },
] as const;

function stepClass(place: number, reached: number): string {
  if (place < reached) return 'done';
  return place === reached ? 'now' : 'ahead';
}

/** What is happening at the step that was reached. */
function now({ link, confirmations }: BuyView): string {
  const [payment] = link.arriving;
  switch (link.status) {
    case 'seen':
      return `${paid(link)} was seen, in block ${Math.min(payment?.confirmations ?? 1, confirmations)} of the ${confirmations} after which it is final. That takes a minute or two.`;
    case 'confirmed':
      return `${paid(link)} is final and is being added.`;
    default:
      return 'Waiting for the payment. This page shows it by itself as soon as it is on the chain.';
  }
}

function paid({ arriving, amount }: FundingPageView): string {
  return `${amountText(arriving[0]?.amount ?? amount)} ${amount.asset}`;
}

/** The same in one sentence, for those who listen to the page. */
export function announcement({ link }: BuyView): string {
  const who = link.name;
  switch (link.status) {
    case 'open':
      return [...remarks(link), 'Waiting for the payment.'].join(' ');
    case 'seen':
      return 'The payment was seen on the chain.';
    case 'confirmed':
      return 'The payment is confirmed.';
    case 'completed':
      return `${amountText(link.completion?.amount ?? link.amount)} ${link.amount.asset} was added to the balance of ${who}.`;
    case 'expired':
      return 'This link has expired.';
  }
}

/**
 * What the card company says. Money of the account that is not this link's goes unmentioned: anyone may have been given the link.
 */
export function remarks({ card, status }: FundingPageView): string[] {
  if (card === undefined || (status !== 'open' && status !== 'expired')) return [];
  switch (card.state) {
    case 'pending':
      return ['The card company is working on your payment.'];
    case 'sent':
      return ['The card company says that it has sent the money. It is added as soon as it arrives.'];
    case 'failed': {
      const why = card.reason === undefined ? '' : `: ${card.reason}`;
      return status === 'expired'
        ? [`The card payment was refused${why}.`]
        : [
            `The card payment was refused${why}. Nothing was charged. Try again with another card, or pay from a wallet.`,
          ];
    }
  }
}
