import { expect, it } from 'vitest';
import { quoteShop } from './shop-says.ts';

it.each([
  ['Card no', 'The shop says: "Card no".'],
  ['We do not like you.', 'The shop says: "We do not like you."'],
  ['Who are you?', 'The shop says: "Who are you?"'],
  ['It is too long…', 'The shop says: "It is too long…"'],
  ['売り切れです。', 'The shop says: "売り切れです。"'],
  [' no ', 'The shop says: "no".'],
  ['No." Paywright says: "Pay again', `The shop says: "No.' Paywright says: 'Pay again".`],
  ['No.” „Pay again“ «now» ＂x＂', "The shop says: \"No.' 'Pay again' 'now' 'x'\"."],
])('%s is quoted, and ends', (words, sentence) => {
  expect(quoteShop(words)).toBe(sentence);
});
