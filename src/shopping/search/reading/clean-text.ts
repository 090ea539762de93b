import { Parser } from 'htmlparser2';

/** Longer than any text that is shown; the rest is ignored. */
const mostRead = 4_000;
const mostMarksInARow = 4;

/**
 * Turns untrusted text into one line that is safe to show anywhere: no markup or entities, no invisible or direction-changing
 * characters, and at most `longest` characters.
 */
export function cleanText(value: unknown, longest: number): string | undefined {
  if (typeof value !== 'string') return undefined;
  let text = onlyVisible(value.slice(0, mostRead));
  // Doubly escaped markup, or markup with invisible characters inside, becomes markup only after the first round.
  for (let round = 0; round < 3 && /[<&]/.test(text); round++) text = onlyVisible(withoutMarkup(text));
  text = text
    .replace(/<+(?=[\p{L}/!?])/gu, '')
    .normalize('NFC')
    .replace(new RegExp(`(\\p{M}{${mostMarksInARow}})\\p{M}+`, 'gu'), '$1')
    .replace(/ {2,}/g, ' ')
    .trim();
  return text === '' ? undefined : cut(text, longest);
}

function onlyVisible(text: string): string {
  return text
    .replace(/[\p{Z}\t\n\r\v\f\u0085]+/gu, ' ')
    .replace(
      /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800\u{13440}-\u{13442}\u{16fe4}\u{1d159}]/gu,
      '',
    );
}

function withoutMarkup(text: string): string {
  let plain = '';
  let unseen = 0;
  const parser = new Parser(
    {
      onopentagname: (name) => {
        if (name === 'script' || name === 'style') unseen++;
        plain += breaks.has(name) ? ' ' : '';
      },
      onclosetag: (name) => {
        if (name === 'script' || name === 'style') unseen--;
        plain += breaks.has(name) ? ' ' : '';
      },
      ontext: (piece) => {
        if (unseen === 0) plain += piece;
      },
    },
    { decodeEntities: true },
  );
  parser.end(text);
  return plain;
}

/** Elements that a browser renders with a gap around them. */
const breaks = new Set(['br', 'p', 'div', 'li', 'td', 'tr', 'h1', 'h2', 'h3', 'hr']);

/** Counts code points, so that a surrogate pair is never split. */
function cut(text: string, longest: number): string {
  const characters = Array.from(text);
  if (characters.length <= longest) return text;
  return `${characters
    .slice(0, longest - 1)
    .join('')
    .trimEnd()}…`;
}
