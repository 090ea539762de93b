/** Longer than real titles and options. NFKC can turn one character into eighteen. */
const longestText = 400;
const mostWords = 60;

/** Ignores case, whitespace, and variants of quotes and dashes. */
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
 * A word is a number with its sign and separators, because 1.5 is neither 5.1 nor -1.5; a word with its signs, because C++ is not
 * C#; or a symbol with a meaning, such as € or an emoji. Everything else is punctuation.
 */
const word =
  /(?<![\p{L}\p{N}])[+-]?\p{N}+(?:[.,:/⁄×x-]\p{N}+)*[\p{L}%°″"+#]*|\p{L}[\p{L}\p{M}\p{N}]*[+#]*|(?![|~^<>=+™®©])\p{S}|%/gu;

/** Ignores case, punctuation, and accents of Latin and Greek letters. In other scripts, marks make different letters. */
export function titleWords(text: string): readonly string[] {
  const kept = known.get(text);
  if (kept !== undefined) return kept;
  if (known.size === mostKnown) known.clear();
  const words = readWords(text);
  known.set(text, words);
  return words;
}

/** A cache, because the options of one product are compared many times. */
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

/** The same words in the same order. Two texts without words do not match. */
export function isSequence(left: readonly string[], right: readonly string[]): boolean {
  return left.length > 0 && left.length === right.length && left.every((one, index) => one === right[index]);
}

/** The same words in any order, but numbers in the same order, because "Volume 2, Book 1" is not "Volume 1, Book 2". */
export function isSame(left: readonly string[], right: readonly string[]): boolean {
  return withoutWords(left, right)?.length === 0 && left.length > 0 && haveSameNumbers(left, right);
}

function haveSameNumbers(left: readonly string[], right: readonly string[]): boolean {
  const numbersOf = (words: readonly string[]) => words.filter((one) => /\p{N}/u.test(one));
  const [ones, others] = [numbersOf(left), numbersOf(right)];
  return ones.length === 0 || isSequence(ones, others);
}

/** The words that remain after removing `taken`; undefined unless all of `taken` are present. */
export function withoutWords(words: readonly string[], taken: readonly string[]): readonly string[] | undefined {
  const left = [...words];
  for (const one of taken) {
    const place = left.indexOf(one);
    if (place < 0) return undefined;
    left.splice(place, 1);
  }
  return left;
}
