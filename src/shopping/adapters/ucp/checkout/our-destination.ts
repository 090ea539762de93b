import { type Fields, fieldsOf, listOf, textOf } from '../../fields.ts';
import type { Session } from './read-session.ts';

/** The destination that we sent to the shop, in UCP's terms. */
export interface SentDestination {
  /** Random, so that it cannot collide with an address of the shop. */
  readonly id: string;
  readonly street_address: string;
  readonly extended_address?: string;
  readonly address_locality: string;
  readonly postal_code?: string;
  readonly address_country: string;
}

/** All fulfillment methods except digital ones. */
function methodsOf({ fields }: Session): Fields[] {
  return listOf(fieldsOf(fields['fulfillment'])['methods'])
    .map(fieldsOf)
    .filter(({ type }) => type !== 'digital');
}

/** The shop's shipping method; empty if it listed none. */
export function shippingOf(session: Session): Fields {
  return methodsOf(session).find(({ type }) => type === 'shipping') ?? {};
}

/** The shop's id for our destination, because shops may rename it. Undefined if the shop does not list it. */
export function ourDestinationId(method: Fields, sent: SentDestination): string | undefined {
  const ours = listOf(method['destinations'])
    .map(fieldsOf)
    .filter((one) => isOurs(one, sent))
    .flatMap(({ id }) => textOf(id) ?? []);
  return (
    [sent.id, textOf(method['selected_destination_id'])].find((id) => id !== undefined && ours.includes(id)) ?? ours[0]
  );
}

/**
 * Whether the checkout ships everything to our destination. A checkout that is ready may be for pickup, or go to an address that
 * the shop had on file.
 */
export function shipsToOurDestination(session: Session, sent: SentDestination): boolean {
  const lines = listOf(session.fields['line_items']).flatMap((line) => textOf(fieldsOf(line)['id']) ?? []);
  const chosen = methodsOf(session).filter((method) => covers(method, lines) && destinationOf(method) !== undefined);
  return (
    chosen.length > 0 &&
    chosen.every((method) => method['type'] === 'shipping' && isOurs(destinationOf(method) ?? {}, sent))
  );
}

/** A method without line ids covers all lines. */
function covers({ line_item_ids: named }: Fields, lines: readonly string[]): boolean {
  const ids = listOf(named).map(textOf);
  return ids.length === 0 || lines.length === 0 || lines.some((line) => ids.includes(line));
}

/** The selected destination, of which the shop may show only the id, or the only one listed. */
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

const longestPart = 500;

/** Ignores case and punctuation. */
function plain(value: unknown): string {
  return (textOf(value) ?? '')
    .slice(0, longestPart)
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]/gu, '');
}

/**
 * Whether anything has to be shipped. UCP cannot say this directly. Nothing is shipped if every fulfillment method is `digital`
 * (UCP's term in orders) or if no line requires shipping (Shopify's extension).
 */
export function needsAddress({ fields }: Session): boolean {
  const methods = listOf(fieldsOf(fields['fulfillment'])['methods']).map(fieldsOf);
  if (methods.length > 0) return !methods.every(({ type }) => type === 'digital');
  const lines = listOf(fields['line_items']).map(fieldsOf);
  const needsNone = lines.map((line) => isNotSent(line['requires']) || isNotSent(fieldsOf(line['item'])['requires']));
  return needsNone.length === 0 || needsNone.includes(false);
}

function isNotSent(requires: unknown): boolean {
  return fieldsOf(requires)['shipping'] === false;
}
