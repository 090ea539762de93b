import { expect, it } from 'vitest';
import { fieldsOf, listOf } from '../fields.ts';
import { readCheckoutReply } from './checkout-reply.ts';

it('reads of a message what we look at, and no more of it than anyone needs', () => {
  const long = 'a'.repeat(3_999);
  const message = { type: 'error', code: long, severity: long, path: `${long}!`, presentation: long, other: long };
  const bytes = Buffer.from(JSON.stringify({ id: 'c', messages: [message, { path: '$.buyer.email' }] }));
  const [first, second] = listOf(readCheckoutReply({ type: 'application/json', bytes })?.['messages']).map(fieldsOf);
  expect(Object.values(first ?? {}).filter((text) => String(text).length > 200)).toEqual([]);
  expect(first).toMatchObject({ type: 'error', path: 'a'.repeat(200) });
  expect(second).toMatchObject({ path: '$.buyer.email' });
});
