/** Deeper than any legitimate value. Code that walks the value recurses once per level, so the depth must be limited. */
export const mostLevels = 100;

const [quote, backslash] = [0x22, 0x5c];
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Runs before parsing, so the text need not be valid JSON. */
export function isTooDeep(text: string): boolean {
  if (text.length <= mostLevels) return false;
  let levels = 0;
  let isText = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isText && code === backslash) at++;
    else if (code === quote) isText = !isText;
    else if (isText) continue;
    else if (closing.has(code)) levels--;
    else if (opening.has(code) && ++levels > mostLevels) return true;
  }
  return false;
}
