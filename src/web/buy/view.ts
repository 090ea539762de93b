import type { Hex } from 'viem';
import type { FundingPageView } from '../../payments/funding/page-view.ts';
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
