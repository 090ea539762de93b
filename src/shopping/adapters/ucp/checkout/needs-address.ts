import { fieldsOf, listOf } from '../../fields.ts';
import type { Session } from './read-session.ts';

/**
 * Whether something has to be sent. The protocol has no word for a checkout of which nothing is, so the shop has to say it of
 * everything in it: all of it is delivered as `digital` (UCP's word in orders), or no line requires shipping (as Shopify has it).
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
