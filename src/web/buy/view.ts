import type { Hex } from 'viem';
import type { FundingPageView } from '../../payments/funding/page-view.ts';
import type { PageContext } from '../layout.ts';

/** Everything that the page of a funding link is made of. */
export interface BuyView {
  readonly link: FundingPageView;
  /** The contract of the currency where it is to arrive; undefined when this service does not reach it any more. */
  readonly token: Hex | undefined;
  /** Blocks after which a payment there is final. */
  readonly confirmations: number;
  /** Who takes cards for it. */
  readonly sellers: readonly Seller[];
  readonly context: PageContext;
}

interface Seller {
  readonly label: string;
  /** Where one click leads. */
  readonly href: string;
}

/** What there is to do: pay, wait for what was paid, or nothing more. */
export type Phase = 'paying' | 'waiting' | 'over';

export function phaseOf({ status }: FundingPageView): Phase {
  switch (status) {
    case 'open':
      return 'paying';
    case 'seen':
    case 'confirmed':
      return 'waiting';
    case 'completed':
    case 'expired':
      return 'over';
  }
}
