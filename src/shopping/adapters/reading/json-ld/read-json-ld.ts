import { parseJson } from '../../../search/reading/read-answer.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../../fields.ts';

const mostNodes = 5_000;

/** All nodes of the documents, however they are nested. `mostNodes` bounds the walk. */
export function walkJsonLd(documents: readonly unknown[]): readonly Fields[] {
  const nodes: Fields[] = [];
  const waiting: unknown[] = [...documents].reverse();
  for (let seen = 0; waiting.length > 0 && seen < mostNodes; seen++) {
    const value = waiting.pop();
    if (Array.isArray(value)) {
      waiting.push(...value.slice(0, 500).reverse());
    } else if (typeof value === 'object' && value !== null) {
      nodes.push(value as Fields);
      waiting.push(...Object.values(value).slice(0, 200).reverse());
    }
  }
  return nodes;
}

/** A type is a name, a list of names, a URL or a prefixed name. */
export function hasType(node: Fields, names: readonly string[]): boolean {
  return listOf(node['@type'], 10).some((type) => names.includes((textOf(type) ?? '').replace(/^.*[/:#]/, '')));
}

/** Resolves a bare `@id` reference to the node with that id and more fields. */
export type Resolve = (value: unknown) => Fields;

export function createResolver(nodes: readonly Fields[]): Resolve {
  const byId = new Map<string, Fields>();
  for (const node of nodes) {
    const id = textOf(node['@id']);
    if (id !== undefined && Object.keys(node).length > 1 && !byId.has(id)) byId.set(id, node);
  }
  return (value) => {
    const node = fieldsOf(value);
    const id = textOf(node['@id']);
    return id !== undefined && Object.keys(node).length === 1 ? (byId.get(id) ?? node) : node;
  };
}

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
