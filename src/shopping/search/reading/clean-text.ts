import { Parser } from 'htmlparser2';

/** Longer than anything that is shown; the rest is not even looked at. */
const mostRead = 4_000;
const mostMarksInARow = 4;

/**
 * One line of text from a stranger, as it may be shown anywhere: no markup, no entities, nothing that cannot be seen or that
 * turns the direction of others, and not longer than this many characters.
 */
export function cleanText(value: unknown, longest: number): string | undefined {
  if (typeof value !== 'string') return undefined;
  let text = onlyVisible(value.slice(0, mostRead));
  // What was escaped twice is markup again after the first time, and so is what had something unseen in the middle.
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

/** Where a reader sees a gap though there is none in the text. */
const breaks = new Set(['br', 'p', 'div', 'li', 'td', 'tr', 'h1', 'h2', 'h3', 'hr']);

/** By whole characters: half of an emoji is nothing that one may send. */
function cut(text: string, longest: number): string {
  const characters = Array.from(text);
  if (characters.length <= longest) return text;
  return `${characters
    .slice(0, longest - 1)
    .join('')
    .trimEnd()}…`;
}
