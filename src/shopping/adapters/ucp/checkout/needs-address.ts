import { fieldsOf, listOf } from '../../fields.ts';
import type { Session } from './read-session.ts';

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
