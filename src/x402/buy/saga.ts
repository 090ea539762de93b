import { amountSql, defineSaga } from '../../kernel/sagas/define-saga.ts';
import { publicStatusesOf, publicStatusOf, statesShownAs } from '../../kernel/sagas/public-status.ts';

const minutes = 60_000;

/** SQL: the amount, and the part of its fee that was not refunded. */
const inTransitSql = `amount + fee - coalesce(
    (SELECT sum(r.atomic) FROM purchase_fees_returned r WHERE r.purchase_id = purchases.id), 0)`;

/** A call to a third party's paid endpoint, and the money for it. */
export const purchaseSaga = defineSaga({
  name: 'purchase',
  table: 'purchases',
  // A purchase that waits for a seller must not delay those that wait for the chain.
  lane: "CASE WHEN status = 'settling' THEN 'MATIC' ELSE 'purchases' END",
  ownLanes: ['purchases'],
  about: `${amountSql('amount', 'asset')} || ' to ' || pay_to`,
  fixed:
    'account_id method url asset amount fee x402_version terms wallet_id pay_to nonce valid_before from_block key_id'.split(
      ' ',
    ),
  inTransit: { kind: 'nano_in_transit', atomic: inTransitSql, chain: "'MATIC'" },
  states: {
    held: {
      meaning: 'the balance is debited; the payment is not signed yet',
      publicName: 'pending',
      publicMeaning:
        'The price was taken from your balance and is held; the seller can collect it for a few minutes at most.',
      next: ['signed', 'settling', 'returned'],
      withinMs: 10 * minutes,
    },
    signed: {
      meaning: 'a house wallet has signed; the seller has not seen the signature yet',
      publicName: 'pending',
      next: ['sending', 'settling', 'returned'],
      withinMs: 10 * minutes,
    },
    sending: {
      meaning: 'the request is sent to the seller with the payment',
      publicName: 'pending',
      next: ['settling'],
      withinMs: 10 * minutes,
    },
    settling: {
      meaning: 'the seller has answered or its answer is lost; the chain shows whether it takes the payment',
      publicName: 'pending',
      next: ['paid', 'returned'],
      withinMs: 60 * minutes,
    },
    paid: {
      meaning: 'the seller has taken exactly the amount',
      publicName: 'paid',
      publicMeaning: 'The chain shows that the seller collected exactly the price. Event: `purchase.paid`.',
      next: [],
    },
    returned: {
      meaning: 'the authorization expired unused; the amount was returned',
      publicName: 'returned',
      publicMeaning:
        'The payment expired before the seller collected it, and the price was refunded. Event: `purchase.returned`.',
      next: [],
    },
  },
  checkpoints: ['purchase.opened', 'purchase.signed', 'purchase.sending', 'purchase.answered', 'purchase.paid'],
  rehearsal: {
    request: { path: '/nano/pay', body: { url: 'http://demo-seller.example/forecast', maxAmount: 1 } },
    endsAs: 'paid',
    // No transaction is requested from the provider, so there is no request to repeat.
    notWith: ['circle'],
  },
});

export type PurchaseStatus = keyof (typeof purchaseSaga)['states'];

export const publicStatuses = publicStatusesOf(purchaseSaga);

export type PublicStatus = (typeof publicStatuses)[number];

export const publicStatus = (status: PurchaseStatus): PublicStatus => publicStatusOf(purchaseSaga, status);

export const statesOf = (shown: PublicStatus): PurchaseStatus[] => statesShownAs(purchaseSaga, shown);

/** The lane that its job runs in, as the declaration says in SQL. */
export function laneOf(status: PurchaseStatus): string {
  return status === 'settling' ? 'MATIC' : 'purchases';
}
