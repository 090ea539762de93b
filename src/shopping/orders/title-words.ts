/** More than titles, options and what people write of them have. Some signs become eighteen when they are normalised. */
const longestText = 400;
const mostWords = 60;

/** Capitals, spaces and the kind of an apostrophe are no difference. */
export function plain(text: string): string {
  return text
    .normalize('NFKC')
    .slice(0, longestText)
    .toLowerCase()
    .replace(/[‘’ʼ`´]/g, "'")
    .replace(/[“”„]/g, '"')
    .replace(/[‐-―−]/g, '-')
    .replace(/\s+/g, ' ')
    .trim();
}

/**
 * Numbers with their sign and what holds them together, because 1.5 is neither 5.1 nor -1.5; words with the signs that make them, because
 * C++ is not C#; and signs that mean something by themselves, such as € or an emoji. All else is punctuation.
 */
const word =
  /(?<![\p{L}\p{N}])[+-]?\p{N}+(?:[.,:/⁄×x-]\p{N}+)*[\p{L}%°″"+#]*|\p{L}[\p{L}\p{M}\p{N}]*[+#]*|(?![|~^<>=+™®©])\p{S}|%/gu;

/** Without case and punctuation. Accents of Latin and Greek letters make no difference; marks of other scripts make other letters. */
export function titleWords(text: string): readonly string[] {
  const kept = known.get(text);
  if (kept !== undefined) return kept;
  if (known.size === mostKnown) known.clear();
  const words = readWords(text);
  known.set(text, words);
  return words;
}

/** The sizes and colours of one product are compared again and again. */
const known = new Map<string, readonly string[]>();
const mostKnown = 5_000;

function readWords(text: string): readonly string[] {
  const bare = plain(text)
    .normalize('NFD')
    .replace(/([\p{Script=Latin}\p{Script=Greek}])\p{M}+/gu, '$1')
    .normalize('NFC')
    .replaceAll("'", '');
  return (bare.match(word) ?? []).slice(0, mostWords);
}

/** The same words in the same order. Two texts without any word are not the same. */
export function isSequence(left: readonly string[], right: readonly string[]): boolean {
  return left.length > 0 && left.length === right.length && left.every((one, index) => one === right[index]);
}

/** The same words in any order; but numbers in the same one, because "Volume 2, Book 1" is not "Volume 1, Book 2". */
export function isSame(left: readonly string[], right: readonly string[]): boolean {
  return withoutWords(left, right)?.length === 0 && left.length > 0 && haveSameNumbers(left, right);
}

function haveSameNumbers(left: readonly string[], right: readonly string[]): boolean {
  const numbersOf = (words: readonly string[]) => words.filter((one) => /\p{N}/u.test(one));
  const [ones, others] = [numbersOf(left), numbersOf(right)];
  return ones.length === 0 || isSequence(ones, others);
}

/** The words that are left when these are taken out; undefined unless all of these are there. */
export function withoutWords(words: readonly string[], taken: readonly string[]): readonly string[] | undefined {
  const left = [...words];
  for (const one of taken) {
    const place = left.indexOf(one);
    if (place < 0) return undefined;
    left.splice(place, 1);
  }
  return left;
}
