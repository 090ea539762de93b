import type { Caller } from '../../kernel/http/define-route.ts';
import { type DuplicateGuard, refuseRepeated } from '../../kernel/http/duplicate-guard.ts';
import { holderOf } from '../../kernel/http/holder.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import { balanceErrors } from '../../ledger/balance-errors.ts';
import { spendableBalances } from '../../ledger/balances.ts';
import { type Amount, toJsonNumber } from '../../money/amount.ts';
import { assets, type Currency } from '../../money/catalogue.ts';
import { orderFee } from '../../money/fees.ts';
import { MerchantTrouble, searchErrorFor } from '../search/merchant-trouble.ts';
import type { LimitedSearch } from '../search/search-merchant.ts';
import type { Website } from '../search/website.ts';
import { type BegunCheckout, type CheckoutTotal, toAmount, totalOf } from './checkout.ts';
import { productOrRefuse, type WantedProduct } from './choose-product.ts';
import { orderErrors } from './errors.ts';
import { type Gate, gateOrRefuse } from './gate.ts';
import { duplicateHash, type NewOrder, newestLike } from './open-order.ts';
import { heldFor, type OrderParts } from './order.ts';
import { addressOrRefuse, type GivenAddress, readBuyer } from './read-address.ts';

export interface BuyParts extends Pick<OrderParts, 'db' | 'ledger' | 'secrets' | 'checkouts'> {
  readonly outgoing: Pick<Outgoing, 'explainRefusal'>;
  readonly merchants: LimitedSearch;
  readonly publicUrl: () => string;
}

export interface Purchase extends DuplicateGuard {
  readonly caller: Caller;
  /** The client's IP address. */
  readonly ip: string;
  readonly website: Website;
  readonly product: WantedProduct;
  readonly quantity: number;
  /** The most that may be charged. */
  readonly most: Amount;
  readonly asset: Currency;
  readonly shippingAddress: GivenAddress | undefined;
}

/** With a `continueUrl`, only the buyer can finish the purchase, on the shop's pages. */
export type PreparedOrder = NewOrder & { readonly continueUrl: string | undefined };

/** Makes every check that needs no money, in the order in which errors are reported. */
export async function prepareOrder(parts: BuyParts, purchase: Purchase): Promise<PreparedOrder> {
  const { db, merchants } = parts;
  const { caller, website, asset, most, quantity } = purchase;
  const gate = await askedOf(gateOrRefuse(parts, website));
  if (gate.merchantId === caller.accountId) throw orderErrors.own_shop();
  const address = await addressOrRefuse(db, caller.accountId, purchase.shippingAddress);
  const product = await productOrRefuse(merchants.of(holderOf(purchase)), {
    website,
    wanted: purchase.product,
    // The checkout knows products by the ids of the shop's own UCP catalog.
    ...(gate.kind === 'ucp' && { platform: 'ucp' }),
  });
  const likeness = duplicateHash(website.name, { itemId: product.itemId, quantity }, address);
  // Before the shop is asked, and again in the commit.
  refuseRepeated(purchase, await newestLike(db, { accountId: caller.accountId, likeness }, parts.publicUrl()));
  const offer = await askedOf(offerOf(parts, gate, { product, quantity, address, asset, accountId: caller.accountId }));
  refuseUnlessAgreed(offer.total, { asset, most });
  const amount = toAmount(asset, offer.total);
  const fee = orderFee(amount);
  return {
    accountId: caller.accountId,
    domain: website.name,
    merchantId: gate.merchantId,
    channel: offer.channel,
    product,
    quantity,
    address,
    likeness,
    asset,
    amount,
    fee,
    total: offer.total,
    continueUrl: offer.continueUrl,
  };
}

/** The ledger decides in the end. */
export async function refuseUnfunded({ db }: Pick<BuyParts, 'db'>, order: PreparedOrder): Promise<void> {
  const { [order.asset]: balance } = await spendableBalances(db, order.accountId);
  if (balance.atomic < heldFor(order).atomic) throw balanceErrors.insufficient_balance();
}

type Offer = Pick<PreparedOrder, 'channel' | 'total' | 'continueUrl'>;

type Wanted = Pick<NewOrder, 'accountId' | 'product' | 'quantity' | 'address' | 'asset'>;

/** The total that the shop asks: from its checkout or, without one, from its list price. */
async function offerOf({ db, checkouts }: BuyParts, gate: Gate, wanted: Wanted): Promise<Offer> {
  const { accountId, product, quantity, address, asset } = wanted;
  const listPrice = totalOf(product.price, quantity);
  if (gate.kind === 'webhook') {
    return { channel: { kind: 'webhook', url: gate.url }, total: listPrice, continueUrl: undefined };
  }
  const begun = await checkouts.begin(gate.place, {
    itemId: product.itemId,
    quantity,
    buyer: await readBuyer(db, accountId, address),
    address,
    currency: assets[asset].currency,
  });
  return readOffer(begun, listPrice);
}

const notSelected =
  'The shop received the shipping address, but its checkout does not confirm it: it offers only pickup, or shows another address or none. Nothing was charged. Buy on the shop’s website, at `continueUrl` if it is given.';

function readOffer(begun: BegunCheckout, listPrice: CheckoutTotal): Offer {
  switch (begun.state) {
    case 'ready':
      return { channel: { kind: 'ucp', checkout: begun.checkout }, total: begun.total, continueUrl: undefined };
    case 'needs_buyer':
      return {
        channel: { kind: 'ucp', checkout: begun.checkout },
        total: begun.total ?? listPrice,
        continueUrl: begun.continueUrl,
      };
    case 'address_incomplete':
      throw orderErrors.shipping_address_incomplete(
        `The shop requires more of the address: ${begun.missing.join(', ')}. Nothing was charged. Add it and send the order again.`,
        {
          members: { missing: begun.missing },
        },
      );
    case 'address_not_taken': {
      const { why, continueUrl } = begun;
      throw orderErrors.address_not_taken(
        why === 'not_selected' ? notSelected : undefined,
        continueUrl === undefined ? {} : { members: { continueUrl } },
      );
    }
    case 'email_needed':
      throw orderErrors.verified_email_required();
    case 'refused':
      if (begun.why === 'sold_out') throw orderErrors.sold_out(`${begun.reason} Nothing was charged.`);
      if (begun.why === 'address_refused') throw orderErrors.address_refused(`${begun.reason} Nothing was charged.`);
      throw orderErrors.order_failed(`${begun.reason} Nothing was charged.`);
  }
}

function refuseUnlessAgreed(
  total: Offer['total'],
  { asset, most }: { readonly asset: Currency; readonly most: Amount },
): void {
  const isPayable = total.currency === assets[asset].currency;
  const now = toAmount(asset, total);
  if (now.atomic > most.atomic) {
    throw orderErrors.price_changed(undefined, {
      members: { total: toJsonNumber(now), currency: total.currency },
    });
  }
  if (!isPayable || total.minor <= 0n) {
    throw orderErrors.currency_mismatch(
      `The shop charges in ${total.currency || 'an unknown currency'}, which ${asset} cannot pay. Nothing was charged.`,
    );
  }
}

/** Reports an unreachable shop in the same way as search does. */
async function askedOf<Result>(asking: Promise<Result>): Promise<Result> {
  try {
    return await asking;
  } catch (error) {
    throw error instanceof MerchantTrouble ? searchErrorFor([error]) : error;
  }
}
