import { randomUUID } from 'node:crypto';
import type { BegunCheckout, CheckoutPlace, CheckoutRequest } from '../../../orders/checkout.ts';
import { quoteShop } from '../../../orders/shop-says.ts';
import { MerchantTrouble } from '../../../search/merchant-trouble.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../../fields.ts';
import { type CheckoutParts, callShop, type ShopCall } from './call-shop.ts';
import { missesEmail, missingOfAddress, toBuyer, toDestination } from './destination.ts';
import {
  needsAddress,
  ourDestinationId,
  type SentDestination,
  shippingOf,
  shipsToOurDestination,
} from './our-destination.ts';
import { readRefusal, readRefusalWithoutSession, readSession, type Session } from './read-session.ts';

const timeoutMs = 6_000;

/**
 * Creates a checkout, sends the address and selects shipping, so that the shop can state its total. This is not binding: an
 * uncompleted checkout expires.
 */
export async function beginCheckout(
  parts: CheckoutParts,
  place: CheckoutPlace,
  request: CheckoutRequest,
): Promise<BegunCheckout> {
  const { itemId, quantity, address, currency } = request;
  const buyer = toBuyer(request.buyer);
  const url = `${place.endpoint}/checkout-sessions`;
  const lines = [{ item: { id: itemId }, quantity }];
  const sent = {
    id: `dest_${randomUUID()}`,
    ...(place.version >= '2026-08-25' && { type: 'shipping_address' }),
    ...toDestination(address),
  };
  const context = {
    address_country: address.country,
    ...(address.postalCode !== undefined && { postal_code: address.postalCode }),
    currency,
  };
  const created = await ask(parts, { method: 'POST', url, body: { line_items: lines, context, buyer } });
  if (!('id' in created)) return created;
  let session = created;
  if (place.ships && needsAddress(session) && mayGoOn(session)) {
    const change = async (fulfillment: object) => {
      const body = { line_items: linesOf(session, lines), context, buyer, fulfillment };
      const changed = await ask(parts, { method: 'PUT', url: `${url}/${encodeURIComponent(created.id)}`, body });
      if ('id' in changed && changed.id !== created.id) {
        throw new MerchantTrouble('not_offered', 'The shop responded with another checkout, so nothing was ordered.');
      }
      return changed;
    };
    const addressed = await change({ methods: [method(session, sent)] });
    if (!('id' in addressed)) return addressed;
    session = addressed;
    const groups = groupsToChoose(session);
    if (groups.length > 0 && mayGoOn(session)) {
      const chosen = await change({ methods: [method(session, sent, groups)] });
      if (!('id' in chosen)) return chosen;
      session = chosen;
    }
  }
  return conclude(place, session, request, sent);
}

async function ask(
  parts: CheckoutParts,
  step: Omit<ShopCall, 'key' | 'timeoutMs'>,
): Promise<Session | Extract<BegunCheckout, { state: 'refused' }>> {
  const reply = await callShop(parts, { ...step, key: randomUUID(), timeoutMs });
  const { status, json } = reply;
  const session = status < 300 ? readSession(json) : undefined;
  if (session !== undefined) return session;
  if (status >= 500 || status === 429) {
    const said = textOf(fieldsOf(json)['content']);
    throw new MerchantTrouble(
      'unreachable',
      `The shop is busy or in trouble, and could not begin the order.${said === undefined ? '' : ` ${quoteShop(said)}`}`,
    );
  }
  return { state: 'refused', ...readRefusalWithoutSession(reply) };
}

function mayGoOn({ status }: Session): boolean {
  return status === 'incomplete' || status === 'ready_for_complete';
}

function linesOf({ fields }: Session, lines: readonly object[]): readonly object[] {
  const ids = listOf(fields['line_items']).map((line) => textOf(fieldsOf(line)['id']));
  return lines.map((line, index) => (ids[index] === undefined ? line : { id: ids[index], ...line }));
}

/** Requests shipping to our destination only, not to an address that the shop has on file. */
function method(session: Session, sent: SentDestination, groups?: readonly object[]) {
  const shipping = shippingOf(session);
  const id = textOf(shipping['id']);
  const lineIds = listOf(session.fields['line_items']).flatMap((line) => textOf(fieldsOf(line)['id']) ?? []);
  const destination = { ...sent, id: ourDestinationId(shipping, sent) ?? sent.id };
  return {
    ...(id !== undefined && { id }),
    type: 'shipping',
    line_item_ids: lineIds,
    destinations: [destination],
    selected_destination_id: destination.id,
    ...(groups !== undefined && { groups }),
  };
}

/** Keeps the shop's selection; otherwise selects the cheapest option. */
function groupsToChoose(session: Session): { readonly id: string; readonly selected_option_id: string }[] {
  const groups = listOf(shippingOf(session)['groups']).map(fieldsOf);
  const open = groups.some((group) => textOf(group['selected_option_id']) === undefined);
  if (!open) return [];
  return groups.flatMap((group) => {
    const id = textOf(group['id']);
    const chosen = textOf(group['selected_option_id']) ?? cheapestOf(listOf(group['options']).map(fieldsOf));
    return id === undefined || chosen === undefined ? [] : [{ id, selected_option_id: chosen }];
  });
}

function cheapestOf(options: readonly Fields[]): string | undefined {
  const priced = options.flatMap((option) => {
    const id = textOf(option['id']);
    const total = listOf(option['totals'])
      .map(fieldsOf)
      .find(({ type }) => type === 'total');
    const amount = total?.['amount'];
    return id === undefined || !Number.isSafeInteger(amount) ? [] : [{ id, amount: Number(amount) }];
  });
  return priced.sort((a, b) => a.amount - b.amount)[0]?.id;
}

/** A shop may substitute a variant or reduce the quantity. Then the buyer has to decide again. */
function isWhatWasAsked({ fields }: Session, { itemId, quantity }: CheckoutRequest): boolean {
  const lines = listOf(fields['line_items']).map(fieldsOf);
  const [line] = lines;
  return lines.length === 1 && textOf(fieldsOf(line?.['item'])['id']) === itemId && line?.['quantity'] === quantity;
}

function conclude(
  place: CheckoutPlace,
  session: Session,
  request: CheckoutRequest,
  sent: SentDestination,
): BegunCheckout {
  const { buyer } = request;
  const { status, total, continueUrl, messages } = session;
  const checkout = { ...place, id: session.id };
  const handedOver = status === 'requires_escalation' || messages.some(({ isDisclosure }) => isDisclosure);
  if (handedOver && continueUrl !== undefined) return { state: 'needs_buyer', checkout, total, continueUrl };
  const missing = missingOfAddress(messages);
  const isReady = status === 'ready_for_complete' && !handedOver;
  const refuses = messages.some(({ type }) => type === 'error') && missing.length === 0;
  if (!place.ships && needsAddress(session) && (isReady || !refuses)) {
    return { state: 'address_not_taken', why: 'no_place', continueUrl };
  }
  if (!isReady) {
    if (buyer.email === undefined && missesEmail(messages)) return { state: 'email_needed' };
    return missing.length > 0
      ? { state: 'address_incomplete', missing }
      : { state: 'refused', ...readRefusal(messages) };
  }
  if (!isWhatWasAsked(session, request)) {
    return { state: 'refused', why: 'refused', reason: 'The shop’s checkout contains another product or quantity.' };
  }
  if (total === undefined) {
    throw new MerchantTrouble(
      'not_offered',
      'The prices in the shop’s checkout do not add up to its total, so nothing was ordered.',
    );
  }
  if (needsAddress(session) && !shipsToOurDestination(session, sent)) {
    return { state: 'address_not_taken', why: 'not_selected', continueUrl };
  }
  return { state: 'ready', checkout, total };
}
