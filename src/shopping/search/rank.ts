import type { Product } from './product.ts';

/** How well a product matches the query; `whole` means that it contains every word. */
export interface Match {
  readonly score: number;
  readonly whole: boolean;
}

/** Best match first. Ties keep the shop's order, because the shop knows its products better than we do. */
export function rankProducts(query: string, products: readonly Product[]): Product[] {
  return products
    .map((product, place) => ({ product, place, score: matchProduct(query, product).score }))
    .sort((a, b) => b.score - a.score || a.place - b.place)
    .map(({ product }) => product);
}

export function matchProduct(query: string, { title, brand, available }: Product): Match {
  const asked = wordsOf(query);
  const inTitle = wordsOf(title);
  const inBrand = wordsOf(brand);
  let score = 0;
  let found = 0;
  for (const word of asked) {
    const best = Math.max(closeness(word, inTitle), closeness(word, inBrand) / 2);
    if (best > 0) found++;
    score += best;
  }
  const whole = asked.length > 0 && found === asked.length;
  if (whole) score += 2;
  if (asked.length > 1 && inTitle.join(' ').includes(asked.join(' '))) score += 2;
  // Prefer the title with fewer other words.
  if (inTitle.length > 0) score += Math.min(1, found / inTitle.length) / 2;
  if (available === false) score -= 1;
  return { score, whole };
}

/** 3 for the word itself, 2.5 for the same stem, 2 for a prefix, 1 for another part of a longer word. */
function closeness(word: string, words: readonly string[]): number {
  let best = 0;
  for (const other of words) {
    if (other === word) return 3;
    if (stemOf(other) === stemOf(word)) best = Math.max(best, 2.5);
    else if (word.length > 2 && other.startsWith(word)) best = Math.max(best, 2);
    else if (word.length > 2 && (other.includes(word) || (other.length > 3 && word.startsWith(other)))) {
      best = Math.max(best, 1);
    }
  }
  return best;
}

/** Enough stemming to match "mugs" with "mug". */
function stemOf(word: string): string {
  return word.length > 3 ? word.replace(/(?:ies|y)$/, 'i').replace(/(?:es|s)$/, '') : word;
}

const mostWords = 40;

/** Drops case and accents, so that "cafe" finds "café". In scripts without spaces every character is a word. */
export function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const pieces = plain.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{N}]+/gu) ?? [];
  return pieces.slice(0, mostWords);
}
