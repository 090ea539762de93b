import type { CheckoutTotal, RefusalKind, ShopAnswer } from '../../../orders/checkout.ts';
import { quoteShop, safeLink } from '../../../orders/shop-says.ts';
import { readCurrency } from '../../../search/price.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../../fields.ts';
import type { ShopReply } from './call-shop.ts';

export interface ShopMessage {
  readonly type: string;
  readonly code: string;
  readonly content: string;
  readonly severity: string;
  readonly path: string;
  /** The buyer must see this message before the purchase continues. */
  readonly isDisclosure: boolean;
}

/** A UCP checkout session. */
export interface Session {
  readonly id: string;
  readonly status: string;
  /** Undefined if it is missing or does not add up. */
  readonly total: CheckoutTotal | undefined;
  readonly continueUrl: string | undefined;
  readonly messages: readonly ShopMessage[];
  readonly fields: Fields;
}

/** Undefined if it is not a session. */
export function readSession(json: unknown): Session | undefined {
  const fields = fieldsOf(json);
  const id = textOf(fields['id']);
  const status = textOf(fields['status']);
  if (id === undefined || id.length > 500 || status === undefined) return undefined;
  return {
    id,
    status,
    total: readTotal(fields),
    continueUrl: safeLink(textOf(fields['continue_url'])),
    messages: readMessages(fields),
    fields,
  };
}

/** Fifteen digits fit exactly into a JSON number. */
const mostMinor = 999_999_999_999_999;

/** The shop's total: exactly one, a positive integer in minor units, equal to the sum of all other top-level amounts. */
function readTotal(fields: Fields): CheckoutTotal | undefined {
  const currency = readCurrency(fields['currency']);
  const lines = listOf(fields['totals']).map(fieldsOf);
  const amounts = lines.map(({ type, amount }) => ({ type: textOf(type), amount }));
  const totals = amounts.filter(({ type }) => type === 'total');
  const [total] = totals;
  if (currency === undefined || totals.length !== 1 || total === undefined) return undefined;
  if (!amounts.every(({ amount }) => Number.isSafeInteger(amount))) return undefined;
  const rest = amounts.filter(({ type }) => type !== 'total').reduce((sum, { amount }) => sum + Number(amount), 0);
  if (rest !== total.amount || Number(total.amount) <= 0 || Number(total.amount) > mostMinor) return undefined;
  return { minor: BigInt(Number(total.amount)), currency };
}

function readMessages(fields: Fields): ShopMessage[] {
  return listOf(fields['messages'])
    .map(fieldsOf)
    .map((message) => ({
      type: textOf(message['type']) ?? '',
      code: textOf(message['code']) ?? '',
      content: textOf(message['content']) ?? '',
      severity: textOf(message['severity']) ?? '',
      path: textOf(message['path']) ?? '',
      isDisclosure: textOf(message['presentation']) === 'disclosure',
    }));
}

const soldOut = new Set(['out_of_stock', 'item_unavailable']);

/** Why the shop refuses. The reason is a sentence of ours that quotes the shop. */
export function readRefusal(
  messages: readonly Pick<ShopMessage, 'type' | 'code' | 'content'>[],
  wordless = 'The shop refused the order.',
): {
  readonly why: RefusalKind;
  readonly reason: string;
} {
  const errors = messages.filter(({ type }) => type === 'error');
  const [first] = errors;
  if (first === undefined) return { why: 'refused', reason: 'The shop refused the order without a reason.' };
  const reason = (fallback: string, { content }: Pick<ShopMessage, 'content'> = first) =>
    content === '' ? fallback : quoteShop(content);
  const unavailable = errors.find(({ code }) => soldOut.has(code));
  if (unavailable !== undefined) return { why: 'sold_out', reason: reason('The shop has none left.', unavailable) };
  const undeliverable = errors.find(({ code }) => code === 'address_undeliverable');
  if (undeliverable !== undefined) {
    return { why: 'address_refused', reason: reason('The shop does not deliver to this address.', undeliverable) };
  }
  return { why: 'refused', reason: reason(wordless) };
}

/** Status codes that leave the order undecided: the shop may have accepted it or may still do so. */
const undecided = new Set([408, 409, 425, 429]);

export type Asked = 'complete' | 'look' | 'cancel';

/** What a response means for the order. A response about another checkout means nothing. */
export function readAnswer(
  { status, json }: ShopReply,
  { asked, checkoutId }: { readonly asked: Asked; readonly checkoutId: string },
): ShopAnswer {
  if (status >= 500 || undecided.has(status) || (status >= 300 && status < 400)) {
    return { state: 'unknown', why: `it answered ${status}` };
  }
  if (status === 404 || status === 410) return { state: 'gone' };
  const session = readSession(json);
  if (session === undefined || status >= 400) return readError({ status, json }, asked);
  if (session.id !== checkoutId) return { state: 'unknown', why: 'it answered about another checkout' };
  switch (session.status) {
    case 'completed': {
      const order = fieldsOf(session.fields['order']);
      return {
        state: 'accepted',
        merchantOrderId: textOf(order['id']),
        url: safeLink(textOf(order['permalink_url'])),
        total: session.total,
      };
    }
    case 'canceled':
      return { state: 'cancelled' };
    case 'complete_in_progress':
      return { state: 'in_progress' };
    case 'requires_escalation':
      return session.continueUrl === undefined
        ? {
            state: 'refused',
            why: 'refused',
            reason: 'The shop requires the buyer to complete the order, but gives no link.',
          }
        : { state: 'needs_buyer', continueUrl: session.continueUrl };
    case 'ready_for_complete':
    case 'incomplete': {
      const refuses = asked === 'complete' && session.messages.some(({ type }) => type === 'error');
      return refuses ? { state: 'refused', ...readRefusal(session.messages) } : { state: 'open' };
    }
    default:
      return { state: 'unknown', why: 'it named a state that the protocol does not have' };
  }
}

/** The refusal in a response without a checkout session. */
export function readRefusalWithoutSession({ status, json }: ShopReply): ReturnType<typeof readRefusal> {
  const fields = fieldsOf(json);
  const messages = readMessages(fields).filter(({ code, content }) => code !== '' || content !== '');
  const own = { code: textOf(fields['code']) ?? '', content: textOf(fields['content']) ?? '' };
  return readRefusal(
    (messages.length > 0 ? messages : [own]).map(({ code, content }) => ({ type: 'error', code, content })),
    `The shop refused the request (${status}).`,
  );
}

/** A response without a session: an error of the protocol, or a success without content. */
function readError(reply: ShopReply, asked: Asked): ShopAnswer {
  const { status, json } = reply;
  const fields = fieldsOf(json);
  if (readMessages(fields).some(({ code }) => code === 'not_found')) return { state: 'gone' };
  const isError = textOf(fieldsOf(fields['ucp'])['status']) === 'error' || status >= 400;
  if (!isError) return { state: 'unknown', why: 'it answered with something that is no checkout' };
  if (asked !== 'complete') return { state: 'unknown', why: `it answered ${status}` };
  return { state: 'refused', ...readRefusalWithoutSession(reply) };
}
