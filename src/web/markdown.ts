import { type Html, prose } from './html.ts';

type Node = string | Element;

interface Element {
  readonly name: string;
  readonly classes: readonly string[];
  readonly href: string | undefined;
  readonly children: Node[];
}

/**
 * A page as Markdown. It is made from the markup, so that a page is written once and a new part of it appears in both.
 * Links within a page become plain text, because Markdown has no agreed anchors; the others become absolute.
 */
export function markdownOf(page: Html, url: string): string {
  return `${blocksOf(readMarkup(page.toString()), url).join('\n\n')}\n`;
}

/** A description of the OpenAPI document, on one line. */
export function proseAsMarkdown(text: string): string {
  return markdownOf(prose(text), 'about:blank').trim();
}

const inlineNames = new Set(['a', 'code', 'span', 'strong', 'em', 'wbr', 'time']);
const headings = /^h[1-6]$/;

function blocksOf(nodes: readonly Node[], url: string): string[] {
  const blocks: string[] = [];
  let line: Node[] = [];
  const endLine = () => {
    const text = paragraph(line, url);
    if (text !== '') blocks.push(text);
    line = [];
  };
  for (const node of nodes) {
    if (isElement(node) && !inlineNames.has(node.name)) {
      endLine();
      blocks.push(...blockOf(node, url));
    } else line.push(node);
  }
  endLine();
  return blocks;
}

function blockOf(element: Element, url: string): string[] {
  const { name, children } = element;
  if (headings.test(name)) return [`${'#'.repeat(Number(name[1]))} ${inline(children, url)}`];
  if (name === 'pre') return [fenced(element)];
  // A collapsed list is the long form of what its summary says.
  if (name === 'details')
    return blocksOf(
      elementsIn(element).filter((part) => part.name === 'summary'),
      url,
    );
  // A short list of codes reads well as one line.
  if (element.classes.includes('errors'))
    return [
      elementsIn(element)
        .map((item) => inline(item.children, url))
        .join(', '),
    ];
  if (name === 'ul' || name === 'ol' || name === 'dl')
    return [
      elementsIn(element)
        .map((item) => listItem(item, url))
        .join('\n'),
    ];
  return blocksOf(children, url);
}

/** A term continues with its first paragraph; what else belongs to it is indented. */
function listItem(item: Element, url: string): string {
  const term = elementsIn(item).find(({ name }) => name === 'dt');
  const [first, ...rest] = blocksOf(
    elementsIn(item).flatMap((part) => (part.name === 'dt' ? [] : part.children)),
    url,
  );
  const text = term === undefined ? [first, ...rest] : withTerm(inline(term.children, url), first, rest);
  return `- ${text
    .filter((part) => part !== undefined)
    .join('\n')
    .replaceAll('\n', '\n  ')}`;
}

function withTerm(term: string, first: string | undefined, rest: readonly string[]): string[] {
  if (first === undefined) return [term];
  return first.startsWith('- ') ? [term, first, ...rest] : [`${term}: ${first}`, ...rest];
}

function paragraph(nodes: readonly Node[], url: string): string {
  return inline(nodes, url).replace(/^(?=(?:[#>+-]|\d+[.)])(?:\s|$))/, '\\');
}

function inline(nodes: readonly Node[], url: string): string {
  return nodes
    .map((node) => inlineOf(node, url))
    .join('')
    .replace(/\s+/g, ' ')
    .trim();
}

function inlineOf(node: Node, url: string): string {
  if (!isElement(node)) return escapeText(textOf(node));
  const text = () => inline(node.children, url);
  if (node.name === 'code') return code(textOf(node));
  if (node.name === 'strong' || node.classes.includes('required') || node.classes.includes('optional'))
    return `**${text()}**`;
  if (node.classes.includes('access')) return `(${text()})`;
  const { href } = node;
  if (node.name !== 'a' || href === undefined || href.startsWith('#'))
    return node.children.map((child) => inlineOf(child, url)).join('');
  return `[${text()}](${new URL(href, url).href})`;
}

/** Only where Markdown would see more than the character. */
function escapeText(text: string): string {
  return text.replace(/[\\`*[\]<|]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)/g, '\\$&');
}

/** Between more backticks than it contains. */
function code(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  const quotes = '`'.repeat(longestRun(line, 0) + 1);
  const space = /^`|`$|^ .* $/.test(line) ? ' ' : '';
  return `${quotes}${space}${line}${space}${quotes}`;
}

function fenced(pre: Element): string {
  const text = textOf(pre);
  const [language = ''] = elementsIn(pre).flatMap(({ classes }) => /language-(\w+)/.exec(classes.join(' '))?.[1] ?? []);
  const fence = '`'.repeat(Math.max(3, longestRun(text, 2) + 1));
  return `${fence}${language}\n${text.replace(/\n$/, '')}\n${fence}`;
}

function longestRun(text: string, least: number): number {
  return Math.max(least, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
}

function textOf(node: Node): string {
  return typeof node === 'string' ? node : node.children.map(textOf).join('');
}

function isElement(node: Node): node is Element {
  return typeof node !== 'string';
}

function elementsIn({ children }: Element): Element[] {
  return children.filter(isElement);
}

const voidNames = new Set(['wbr', 'br', 'img', 'input']);

/** Reads only what the `html` template has written: every tag is closed, and no text or attribute contains an angle bracket. */
function readMarkup(markup: string): Node[] {
  const root: Node[] = [];
  const open = [root];
  for (const [, text, slash, name = '', attributes = ''] of markup.matchAll(/([^<]+)|<(\/?)(\w+)([^>]*)>/g)) {
    if (text !== undefined) open.at(-1)?.push(decode(text));
    else if (slash === '/') open.pop();
    else {
      const element = {
        name,
        classes: attribute(attributes, 'class')?.split(' ') ?? [],
        href: attribute(attributes, 'href'),
        children: [],
      };
      open.at(-1)?.push(element);
      if (!voidNames.has(name)) open.push(element.children);
    }
  }
  return root;
}

function attribute(attributes: string, name: string): string | undefined {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(attributes)?.[1];
  return value === undefined ? undefined : decode(value);
}

const characters: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
  nbsp: '\u00a0',
};

function decode(text: string): string {
  return text.replace(/&(#39|\w+);/g, (entity, name: string) => characters[name] ?? entity);
}
