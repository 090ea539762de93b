import type { IncomingHttpHeaders } from 'node:http';
import type { Hex } from 'viem';
import type { Amount } from '../../money/amount.ts';
import { type Asset, assets, type ChainId, isCurrency } from '../../money/catalogue.ts';

/**
 * Somebody who sells stablecoins by card and sends them to an address. The card is theirs to ask for and never reaches us; that
 * they have sent anything is believed only when it has arrived.
 */
export interface OnRamp {
  /** As settings, addresses and logs name it. */
  readonly name: string;
  /** As people know it. */
  readonly label: string;
  /** Whether it can send this to that chain at all. */
  sells(chain: ChainId, asset: Asset): boolean;
  /** Begins a purchase and answers where the person goes. Throws OnRampTrouble when that cannot be done now. */
  begin(purchase: Purchase): Promise<string>;
  /** Reads what it tells of a payment. Throws InvalidSignature unless it was certainly told by this company, just now. */
  readonly readNotice?: (notice: Notice) => CardUpdate | undefined;
}

export interface Purchase {
  /** What it comes back under in every notice: the id of the link, which opens nothing. */
  readonly reference: string;
  readonly amount: Amount;
  readonly chain: ChainId;
  readonly address: Hex;
  /** Where the person is sent afterwards. It holds no secret: whoever sells is not to know the link. */
  readonly returnUrl: string;
  /** Where the person is. */
  readonly clientIp: string;
}

/** What a card pays for it: dollars, unless it stands for other money. */
export function cardCurrency({ asset }: Pick<Amount, 'asset'>): string {
  return isCurrency(asset) ? assets[asset].currency : 'USD';
}

/** A request of the card company's to us, byte by byte. */
export interface Notice {
  readonly bytes: Buffer;
  readonly headers: IncomingHttpHeaders;
}

/** What a card company says about one payment. */
export interface CardUpdate {
  readonly reference: string;
  /** Its own name for the payment. */
  readonly paymentId: string;
  readonly state: CardState;
  /** What it is going to send, in decimal text, and where; undefined where it does not say. */
  readonly amount: string | undefined;
  readonly asset: string | undefined;
  readonly address: string | undefined;
  /** Why it failed, in words for the person. */
  readonly reason?: string | undefined;
}

/** `sent` is what they say: it counts when it has arrived. */
export type CardState = 'pending' | 'sent' | 'failed';

/** A purchase cannot begin at this moment. The message is for the operator. */
export class OnRampTrouble extends Error {
  override readonly name = 'OnRampTrouble';
}

/** Whatever is wrong with a signature, so that nobody can feel their way. The message is for the operator. */
export class InvalidSignature extends Error {
  override readonly name = 'InvalidSignature';
}
