import type { IncomingHttpHeaders } from 'node:http';
import type { Hex } from 'viem';
import type { Amount } from '../../money/amount.ts';
import { type Asset, assets, type ChainId, isCurrency } from '../../money/catalogue.ts';

/**
 * A company that sells stablecoins by card and sends them to an address. Card data never reaches us. Its word that it
 * has sent money completes nothing: only the deposit does.
 */
export interface OnRamp {
  /** The name in settings, URLs and logs. */
  readonly name: string;
  /** The name shown to people. */
  readonly label: string;
  sells(chain: ChainId, asset: Asset): boolean;
  /** Starts a purchase and returns the URL for the person. Throws OnRampTrouble if that fails. */
  begin(purchase: Purchase): Promise<string>;
  /** Throws InvalidSignature unless the notice has a fresh signature of this company. */
  readonly readNotice?: (notice: Notice) => CardUpdate | undefined;
}

export interface Purchase {
  /** Comes back in every notice. It is the link's id, which gives no access. */
  readonly reference: string;
  readonly amount: Amount;
  readonly chain: ChainId;
  readonly address: Hex;
  /** Contains no secret, because the card company must not learn the link's token. */
  readonly returnUrl: string;
  readonly clientIp: string;
}

/** The card is charged in the stablecoin's own currency, otherwise in dollars. */
export function cardCurrency({ asset }: Pick<Amount, 'asset'>): string {
  return isCurrency(asset) ? assets[asset].currency : 'USD';
}

/** The raw request; the signature covers its exact bytes. */
export interface Notice {
  readonly bytes: Buffer;
  readonly headers: IncomingHttpHeaders;
}

export interface CardUpdate {
  readonly reference: string;
  /** The card company's id of the payment. */
  readonly paymentId: string;
  readonly state: CardState;
  /** As decimal text; undefined where the notice does not say. */
  readonly amount: string | undefined;
  readonly asset: string | undefined;
  readonly address: string | undefined;
  /** Shown to the person. */
  readonly reason?: string | undefined;
}

/** `sent` is the company's claim; only the deposit proves it. */
export type CardState = 'pending' | 'sent' | 'failed';

/** The message is for the operator. */
export class OnRampTrouble extends Error {
  override readonly name = 'OnRampTrouble';
}

/** One error for every signature problem, so that a forger learns nothing. The message is for the operator. */
export class InvalidSignature extends Error {
  override readonly name = 'InvalidSignature';
}
