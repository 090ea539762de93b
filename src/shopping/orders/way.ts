import { z } from 'zod';
import { shippingAddress, visibleText } from '../../accounts/fields.ts';
import { amountField, requireAmount } from '../../kernel/http/amount-field.ts';
import { guardErrors, notDuplicateOf } from '../../kernel/http/duplicate-guard.ts';
import type { ErrorKind } from '../../kernel/http/problem.ts';
import { toText } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import { note } from '../../policies/approvals/asks.ts';
import type { Fact, Payment } from '../../policies/consent.ts';
import type { Way } from '../../policies/way.ts';
import { shoppingErrors } from '../search/errors.ts';
import { website, websiteOrRefuse } from '../search/search-shop.ts';
import { type BuyParts, type PreparedOrder, type Purchase, prepareOrder } from './buy.ts';
import { orderErrors } from './errors.ts';
import { heldFor } from './order.ts';
import { addressParts } from './read-address.ts';

export const buyBody = z.strictObject({
  website,
  productTitle: visibleText(500).meta({
    description:
      'As returned by the search. Case, punctuation and word order do not matter as long as exactly one product matches. A variant name may follow, as in "Linen Shirt L".',
  }),
  productBrand: visibleText(200).optional().meta({ description: 'As returned by the search.' }),
  productUrl: z
    .url()
    .max(2_000)
    .optional()
    .meta({ description: 'As returned by the search. Required only if title and brand match several products.' }),
  productVariant: visibleText(200).optional().meta({
    description:
      'The id or title of a variant that the search lists, or its options, such as "L" or "Size: L, Color: Blue". Required if there are several variants.',
  }),
  quantity: z
    .int({ error: 'must be a whole number' })
    .min(1, 'must be from 1 to 100')
    .max(100, 'must be from 1 to 100')
    .optional()
    .meta({ description: 'The number of items. The default is 1.' }),
  amount: amountField.meta({
    description:
      'A number or decimal string: the most that may be charged including shipping and tax, before our fee. You are charged what the shop asks, never more than this.',
  }),
  paymentMethod: z.enum(['usdc', 'eurc'], { error: 'must be "usdc" or "eurc"' }),
  shippingAddress: z.union([shippingAddress, addressParts]).optional().meta({
    description:
      'For this order only; defaults to the address of your account. Text on one or more lines, or an object. Without a name, your account name is used. Text may omit the country if region and postal code imply it.',
  }),
  notDuplicateOf,
  note,
});

/** What the request says by itself. */
export function readWanted(
  outgoing: BuyParts['outgoing'],
  asked: z.output<typeof buyBody>,
): Omit<Purchase, 'caller' | 'ip'> {
  const asset = asked.paymentMethod === 'usdc' ? 'USDC' : 'EURC';
  return {
    most: requireAmount(asset, asked.amount),
    website: websiteOrRefuse(asked.website, outgoing),
    product: {
      title: asked.productTitle,
      brand: asked.productBrand,
      url: asked.productUrl,
      variant: asked.productVariant,
    },
    quantity: asked.quantity ?? 1,
    asset,
    shippingAddress: asked.shippingAddress,
    notDuplicateOf: asked.notDuplicateOf,
  };
}

export function paymentFor(order: PreparedOrder): Payment {
  return {
    operation: 'order',
    amount: heldFor(order),
    counterparty: { kind: 'shop', domain: order.domain, owner: order.merchantId },
    chains: [homeChain],
    facts: () => orderFacts(order),
  };
}

function orderFacts({ product, quantity, amount, fee, address }: PreparedOrder): readonly Fact[] {
  const { title, brand, url, itemId, variant } = product;
  const options = variant && [variant.title, ...Object.values(variant.options ?? {})].filter(Boolean);
  const { name, street, extra, postalCode, city, region, country } = address;
  const place = [name, street, extra, [postalCode, city].filter(Boolean).join(' '), region, country];
  return [
    { label: 'Product', text: brand === '' ? title : `${title} by ${brand}`, quoted: true },
    ...(options ? [{ label: 'Variant', text: [...new Set(options)].join(', '), quoted: true as const }] : []),
    { label: 'Article', text: itemId, quoted: true },
    { label: 'Page', text: url, quoted: true },
    { label: 'Quantity', text: String(quantity) },
    { label: 'The shop charges', text: toText(amount) },
    { label: 'Fee', text: toText(fee) },
    { label: 'Ship to', text: place.filter(Boolean).join('\n') },
  ];
}

/** These errors concern existing orders only. */
const ofPlacedOrders: readonly ErrorKind[] = [orderErrors.order_not_found, orderErrors.order_taken];

export const orderRefusals = [
  ...Object.values(orderErrors).filter((error) => !ofPlacedOrders.includes(error)),
  guardErrors.possible_duplicate,
  shoppingErrors.merchant_unreachable,
  shoppingErrors.merchant_too_slow,
  shoppingErrors.merchant_unsupported,
];

/** The shop is asked for its total, as before a purchase. */
export function orderWay(parts: BuyParts): Way<typeof buyBody> {
  return {
    operation: 'order',
    scope: 'pay',
    body: buyBody,
    refusals: orderRefusals,
    async read(caller, asked) {
      const prepared = await prepareOrder(parts, { ...readWanted(parts.outgoing, asked), caller, ip: nowhere });
      const { continueUrl } = prepared;
      if (continueUrl !== undefined) throw orderErrors.needs_buyer(undefined, { members: { continueUrl } });
      return { payment: paymentFor(prepared) };
    },
  };
}

/** Requests of a key take the places of its account; simulations share those of this address. */
const nowhere = '0.0.0.0';
