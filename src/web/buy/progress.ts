import type { Hex } from 'viem';
import type { FundingPageView } from '../../payments/funding/page-view.ts';
import { amountText } from '../format.ts';
import { type Html, html } from '../html.ts';
import type { PageContext } from '../layout.ts';

export interface BuyView {
  readonly link: FundingPageView;
  /** The token contract on the link's chain; undefined if the service no longer reaches that chain. */
  readonly token: Hex | undefined;
  readonly confirmations: number;
  /** Card companies that sell this currency. */
  readonly sellers: readonly Seller[];
  readonly context: PageContext;
}

interface Seller {
  readonly label: string;
  readonly href: string;
}

type Phase = 'paying' | 'waiting' | 'over';

const phases: Readonly<Record<FundingPageView['status'], Phase>> = {
  open: 'paying',
  seen: 'waiting',
  confirmed: 'waiting',
  completed: 'over',
  expired: 'over',
};

export function phaseOf({ status }: FundingPageView): Phase {
  return phases[status];
}

/** The part of the page that the stream updates. */
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

function now({ link, confirmations }: BuyView): string {
  const [payment] = link.arriving;
  switch (link.status) {
    case 'seen':
      return `${paid(link)} was seen: ${Math.min(payment?.confirmations ?? 1, confirmations)} of ${confirmations} confirmations. This takes a minute or two.`;
    case 'confirmed':
      return `${paid(link)} is confirmed and is being added.`;
    default:
      return 'Waiting for the payment. This page updates itself when the payment arrives.';
  }
}

function paid({ arriving, amount }: FundingPageView): string {
  return `${amountText(arriving[0]?.amount ?? amount)} ${amount.asset}`;
}

/** The status in one sentence, for screen readers. */
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
 * What the card company reports. Other payments to the account stay private, because the link may have been shared.
 */
export function remarks({ card, status }: FundingPageView): string[] {
  if (card === null || (status !== 'open' && status !== 'expired')) return [];
  switch (card.state) {
    case 'pending':
      return ['The card company is processing your payment.'];
    case 'sent':
      return ['The card company has sent the money. It is added as soon as it arrives.'];
    case 'failed': {
      const why = card.reason === null ? '' : `: ${card.reason}`;
      return status === 'expired'
        ? [`The card payment was refused${why}.`]
        : [
            `The card payment was refused${why}. Nothing was charged. Try again with another card, or pay from a wallet.`,
          ];
    }
  }
}
