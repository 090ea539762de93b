import { parseJson } from '../../../search/reading/read-answer.ts';

/** What is longer is somebody's data, and not the description of a product. */
const mostMended = 200_000;

/** The documents of one script. Shops write them by templates, and so they are broken in all the ways that templates break. */
export function readJsonLd(script: string): readonly unknown[] {
  const whole = parseJson(script);
  if (whole !== undefined) return [whole];
  if (script.length > mostMended) return [];
  const mended = mendJson(unescaped(script));
  return mended.flatMap((document) => {
    const value = parseJson(document);
    return value === undefined ? [] : [value];
  });
}

/** Quotation marks that were escaped for HTML, in a script where nothing is read as HTML. */
function unescaped(text: string): string {
  if (text.includes('"')) return text;
  return text.replaceAll('&quot;', '"').replaceAll('&#34;', '"').replaceAll('&amp;', '&');
}

/**
 * Goes through the text once, sign by sign. Outside of strings it leaves out comments, CDATA marks, semicolons and commas
 * before a closing bracket, and parts one document from the next; inside it escapes what JSON does not take raw.
 */
function mendJson(text: string): string[] {
  const documents: string[] = [];
  let out = '';
  let depth = 0;
  let pendingComma = false;
  for (let index = 0; index < text.length; index++) {
    const sign = text[index] ?? '';
    if (sign === '"') {
      if (pendingComma) out += ',';
      pendingComma = false;
      const [string, end] = readString(text, index);
      out += string;
      index = end;
      continue;
    }
    const skipped = asides.includes(sign) ? skipAside(text, index) : undefined;
    if (skipped !== undefined) {
      index = skipped;
      continue;
    }
    if (sign <= ' ' || sign === ';' || sign === '\ufeff' || sign === '\u00a0') continue;
    if (sign === ',') {
      pendingComma = out !== '';
      continue;
    }
    const opens = sign === '{' || sign === '[';
    const closes = sign === '}' || sign === ']';
    if (pendingComma && !closes) out += ',';
    pendingComma = false;
    if (depth === 0 && !opens) continue;
    out += sign;
    if (opens) depth++;
    if (closes && --depth === 0) {
      documents.push(out);
      out = '';
    }
  }
  return documents;
}

/** The string that begins here, with control characters escaped, and where it ends. */
function readString(text: string, start: number): [string, number] {
  let out = '"';
  for (let index = start + 1; index < text.length; index++) {
    const sign = text[index] ?? '';
    if (sign === '"') return [`${out}"`, index];
    if (sign === '\\') {
      const next = text[++index] ?? '';
      out += '"\\/bfnrtu'.includes(next) ? `\\${next}` : next;
    } else out += sign < ' ' ? ' ' : sign;
  }
  return [`${out}"`, text.length];
}

/** What a comment or a CDATA mark may begin with. */
const asides = '/<-]';

/** Where a comment or a CDATA mark that begins here ends. */
function skipAside(text: string, index: number): number | undefined {
  const endOf = (close: string, length: number) => {
    const at = text.indexOf(close, index + length);
    return at === -1 ? text.length : at + close.length - 1;
  };
  if (text.startsWith('/*', index)) return endOf('*/', 2);
  if (text.startsWith('<!--', index)) return index + 3;
  if (text.startsWith('-->', index)) return index + 2;
  if (text.startsWith('<![CDATA[', index)) return index + 8;
  if (text.startsWith(']]>', index)) return index + 2;
  // "//<![CDATA[" hides the mark from scripts; any other line that begins like this is a remark.
  if (text.startsWith('//<![CDATA[', index)) return index + 10;
  if (text.startsWith('//]]>', index)) return index + 4;
  if (text.startsWith('//', index)) return endOf('\n', 2);
  return undefined;
}
