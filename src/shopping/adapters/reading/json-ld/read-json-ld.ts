import { parseJson } from '../../../search/reading/read-answer.ts';

/** A longer script is not a product description. */
const mostMended = 200_000;

/** Parses one script. Shops generate JSON-LD from templates and often break it, so invalid JSON is repaired. */
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

/** Undoes HTML escaping of quotation marks, which a script element does not decode. */
function unescaped(text: string): string {
  if (text.includes('"')) return text;
  return text.replaceAll('&quot;', '"').replaceAll('&#34;', '"').replaceAll('&amp;', '&');
}

/**
 * Repairs JSON in one pass. Outside strings it drops comments, CDATA markers, semicolons and trailing commas, and splits
 * concatenated documents. Inside strings it replaces raw control characters.
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

/** The string that starts here, with control characters replaced, and the index of its end. */
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

/** The characters that a comment or a CDATA marker can start with. */
const asides = '/<-]';

/** The last index of a comment or CDATA marker that starts here. */
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
  // "//<![CDATA[" hides the marker from scripts; any other "//" starts a comment.
  if (text.startsWith('//<![CDATA[', index)) return index + 10;
  if (text.startsWith('//]]>', index)) return index + 4;
  if (text.startsWith('//', index)) return endOf('\n', 2);
  return undefined;
}
