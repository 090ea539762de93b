import { type Fields, fieldsOf, listOf, textOf } from '../../fields.ts';
import type { Session } from './read-session.ts';

/** Where we have asked a shop to send something, in the words of the protocol. */
export interface SentDestination {
  /** Made up for this checkout, so that no address of the shop's own goes by it. */
  readonly id: string;
  readonly street_address: string;
  readonly extended_address?: string;
  readonly address_locality: string;
  readonly postal_code?: string;
  readonly address_country: string;
}

/** The shop's methods of shipping and of anything else, as far as something has to be brought or fetched. */
function methodsOf({ fields }: Session): Fields[] {
  return listOf(fieldsOf(fields['fulfillment'])['methods'])
    .map(fieldsOf)
    .filter(({ type }) => type !== 'digital');
}

/** The shop's own method of shipping, if it has named one. */
export function shippingOf(session: Session): Fields {
  return methodsOf(session).find(({ type }) => type === 'shipping') ?? {};
}

/** What the shop calls the destination that we have sent: shops may rename it. Undefined when it has not shown it. */
export function nameOfOurs(method: Fields, sent: SentDestination): string | undefined {
  const ours = listOf(method['destinations'])
    .map(fieldsOf)
    .filter((one) => isOurs(one, sent))
    .flatMap(({ id }) => textOf(id) ?? []);
  return (
    [sent.id, textOf(method['selected_destination_id'])].find((id) => id !== undefined && ours.includes(id)) ?? ours[0]
  );
}

/**
 * Whether the checkout says that everything in it is sent to where we have said. What a shop calls ready may be waiting in its
 * store, or go to an address that it had before.
 */
export function isSentToOurs(session: Session, sent: SentDestination): boolean {
  const lines = listOf(session.fields['line_items']).flatMap((line) => textOf(fieldsOf(line)['id']) ?? []);
  const chosen = methodsOf(session).filter((method) => covers(method, lines) && destinationOf(method) !== undefined);
  return (
    chosen.length > 0 &&
    chosen.every((method) => method['type'] === 'shipping' && isOurs(destinationOf(method) ?? {}, sent))
  );
}

/** A method that names no lines is for all of them. */
function covers({ line_item_ids: named }: Fields, lines: readonly string[]): boolean {
  const ids = listOf(named).map(textOf);
  return ids.length === 0 || lines.length === 0 || lines.some((line) => ids.includes(line));
}

/** The one that is selected, of which a shop may show nothing but the id; or the only one there is. */
function destinationOf({ selected_destination_id: selected, destinations }: Fields): Fields | undefined {
  const listed = listOf(destinations).map(fieldsOf);
  const id = textOf(selected);
  if (id === undefined) return listed.length === 1 ? listed[0] : undefined;
  return listed.find((one) => textOf(one['id']) === id) ?? { id };
}

function isOurs(one: Fields, sent: SentDestination): boolean {
  if (textOf(one['id']) === sent.id) return true;
  const shown = { ...fieldsOf(one['address']), ...one };
  const street = plain(shown['street_address']);
  return (
    [plain(sent.street_address), plain(`${sent.street_address} ${sent.extended_address ?? ''}`)].includes(street) &&
    plain(shown['address_locality']) === plain(sent.address_locality) &&
    plain(shown['address_country']) === plain(sent.address_country) &&
    (sent.postal_code === undefined || plain(shown['postal_code']) === plain(sent.postal_code))
  );
}

/** No part of an address is longer. */
const longestPart = 500;

/** Without case and punctuation. */
function plain(value: unknown): string {
  return (textOf(value) ?? '')
    .slice(0, longestPart)
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]/gu, '');
}
