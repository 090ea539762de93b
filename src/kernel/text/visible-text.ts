/**
 * Characters that people do not see but a model reads: controls, soft hyphens, zero-width and bidirectional
 * characters, tags, fillers, variation selectors, private use, surrogates, noncharacters, and blank or purely
 * positioning symbols (Braille, music, hieroglyphs).
 */
const hidden =
  /[\p{Cc}\p{Cs}\p{Co}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029\ufff9-\ufffb\u2800\u{13430}-\u{13442}\u{16fe4}\u{1d159}\u{1d173}-\u{1d17a}]/u;

/** Joiners, selectors and tags are legitimate within an emoji. */
// biome-ignore lint/complexity/useRegexLiterals: the language level that the compiler checks knows no flag v, and Node does
const emoji = new RegExp('\\p{RGI_Emoji}', 'gv');

/** Whether all of a text is visible and there is something to see. */
export function isVisible(text: string): boolean {
  return !hidden.test(text.replace(emoji, '')) && /[^\p{Z}]/u.test(text);
}

/** Escapes control characters in third-party text, so that it cannot manipulate the operator's terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{C}]/gu, (character) => JSON.stringify(character).slice(1, -1));
}
