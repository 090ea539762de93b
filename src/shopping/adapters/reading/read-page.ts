import { Parser, type ParserOptions } from 'htmlparser2';
import { readJsonLd } from './json-ld/read-json-ld.ts';

/** What is of use in somebody's page. */
export interface Page {
  readonly title: string | undefined;
  /** As the page calls its site. */
  readonly siteName: string | undefined;
  /** Every document of JSON-LD in it, as far as it could be read. */
  readonly jsonLd: readonly unknown[];
  readonly links: readonly PageLink[];
  readonly searchForms: readonly SearchForm[];
  readonly wordPressApi: string | undefined;
  /** og:price and its relatives, for pages without JSON-LD's. */
  readonly priceCurrency: string | undefined;
}

interface PageLink {
  readonly href: string;
  readonly text: string;
}

/** A form that asks for one word: where it goes, and what it calls the word. */
interface SearchForm {
  readonly action: string;
  readonly field: string;
}

const mostLinks = 1_000;
const mostScripts = 30;
const mostScriptCharacters = 500_000;
const longestLinkText = 300;
/** The depth at which browsers stop as well. The parser looks through all that is open, again and again. */
const mostOpen = 500;
/** For each closing tag the parser looks through all that is open: so many looks in all. */
const mostClosings = 5_000_000;
/** What is of use in its head. */
const facts = new Set(['og:site_name', 'og:price:currency', 'product:price:currency', 'pricecurrency']);
const longestKey = 40;
const longestFact = 300;

/** In one pass and without a tree, so that a page costs what its length costs and no more. */
export function readPage(markup: string): Page {
  const scripts: string[] = [];
  const links: { href: string; text: string }[] = [];
  const searchForms: SearchForm[] = [];
  const meta = new Map<string, string>();
  let closings = 0;
  let wordPressApi: string | undefined;
  let title = '';
  let script: string | undefined;
  let inTitle = false;
  let link: { href: string; text: string } | undefined;
  let form: { action: string; search: boolean; field?: string } | undefined;

  let open = 0;

  const parser = new PageParser(
    {
      onopentagname() {
        if (++open > mostOpen) throw tooDeep;
      },
      onopentag(name, attributes) {
        if (name === 'script') {
          script = /^application\/ld\+json\b/i.test(attributes['type'] ?? '') ? '' : undefined;
        } else if (name === 'title') inTitle = title === '';
        else if (name === 'a') {
          link = { href: attributes['href'] ?? '', text: attributes['aria-label'] ?? attributes['title'] ?? '' };
          if (link.href !== '' && links.length < mostLinks) links.push(link);
        } else if (name === 'img' && link !== undefined) addText(link, attributes['alt'] ?? '');
        else if (name === 'meta') {
          const key = attributes['property'] ?? attributes['name'] ?? attributes['itemprop'];
          const fact = key === undefined || key.length > longestKey ? '' : key.toLowerCase();
          if (facts.has(fact) && !meta.has(fact)) meta.set(fact, (attributes['content'] ?? '').slice(0, longestFact));
        } else if (name === 'link' && attributes['rel'] === 'https://api.w.org/') wordPressApi = attributes['href'];
        else if (name === 'form') {
          const post = /^post$/i.test(attributes['method'] ?? '');
          const action = attributes['action'] ?? '';
          const search = attributes['role'] === 'search' || /search/i.test(`${action} ${attributes['class'] ?? ''}`);
          form = post ? undefined : { action, search };
        } else if (name === 'input' && form !== undefined) readInput(form, attributes);
      },
      ontext(text) {
        if (script !== undefined && script.length < mostScriptCharacters) script += text;
        if (inTitle && title.length < longestLinkText) title += text;
        if (link !== undefined) addText(link, text);
      },
      onclosetag(name) {
        open--;
        if (name === 'script' && script !== undefined) {
          if (scripts.length < mostScripts) scripts.push(script);
          script = undefined;
        } else if (name === 'title') inTitle = false;
        else if (name === 'a') link = undefined;
        else if (name === 'form') {
          if (form?.field !== undefined && searchForms.length < 5) {
            searchForms.push({ action: form.action, field: form.field });
          }
          form = undefined;
        }
      },
    },
    { decodeEntities: true },
    () => {
      closings += open;
      if (closings > mostClosings) throw tooDeep;
    },
  );
  try {
    parser.end(markup);
  } catch (error) {
    // What was read until then is of use all the same.
    if (error !== tooDeep) throw error;
  }

  return {
    title: title.trim() || undefined,
    siteName: meta.get('og:site_name')?.trim() || undefined,
    jsonLd: scripts.flatMap(readJsonLd),
    links,
    searchForms,
    wordPressApi,
    priceCurrency: meta.get('og:price:currency') ?? meta.get('product:price:currency') ?? meta.get('pricecurrency'),
  };
}

const tooDeep = new Error('the page is nested beyond reason');

/** Tells of every closing tag, also of one that closes nothing. */
class PageParser extends Parser {
  readonly #onClosing: () => void;

  constructor(handler: ConstructorParameters<typeof Parser>[0], options: ParserOptions, onClosing: () => void) {
    super(handler, options);
    this.#onClosing = onClosing;
  }

  override onclosetag(start: number, end: number): void {
    this.#onClosing();
    super.onclosetag(start, end);
  }
}

function addText(link: { text: string }, text: string): void {
  if (link.text.length < longestLinkText) link.text += ` ${text.slice(0, longestLinkText)}`;
}

/** Forms that search are told by their role, or by what they call the word. */
function readInput(form: { search: boolean; field?: string }, attributes: Readonly<Record<string, string>>): void {
  const { type = 'text', name = '' } = attributes;
  if (name === '' || !/^(?:text|search)$/i.test(type)) return;
  const likely = /^(?:q|s|query|search|keywords?|search_query|searchterm|term|text|w)$/i.test(name);
  if (likely && (form.search || /^search$/i.test(type) || /^(?:q|s)$/.test(name))) form.field ??= name;
}
