import { Parser, type ParserOptions } from 'htmlparser2';
import { readJsonLd } from './json-ld/read-json-ld.ts';

/** What we use of an HTML page. */
export interface Page {
  readonly title: string | undefined;
  /** The site's name (og:site_name). */
  readonly siteName: string | undefined;
  /** All JSON-LD documents that could be parsed. */
  readonly jsonLd: readonly unknown[];
  readonly links: readonly PageLink[];
  readonly searchForms: readonly SearchForm[];
  readonly wordPressApi: string | undefined;
  /** From og:price:currency and similar meta tags, for pages without JSON-LD prices. */
  readonly priceCurrency: string | undefined;
}

interface PageLink {
  readonly href: string;
  readonly text: string;
}

/** A GET form with a search field. */
interface SearchForm {
  readonly action: string;
  readonly field: string;
}

const mostLinks = 1_000;
const mostScripts = 30;
const mostScriptCharacters = 500_000;
const longestLinkText = 300;
/** Browsers stop at about this depth too. htmlparser2 scans its stack of open elements repeatedly, so depth costs time. */
const mostOpen = 500;
/** For every closing tag htmlparser2 scans all open elements; this bounds the total number of scans. */
const mostClosings = 5_000_000;
/** The meta tags that we read. */
const facts = new Set(['og:site_name', 'og:price:currency', 'product:price:currency', 'pricecurrency']);
const longestKey = 40;
const longestFact = 300;

/** One pass without a tree, so the cost is linear in the length of the page. */
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
    // Keep what was read so far.
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

/** Also reports closing tags that match no open element. */
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

/** A search form is recognized by its role or by the name of its field. */
function readInput(form: { search: boolean; field?: string }, attributes: Readonly<Record<string, string>>): void {
  const { type = 'text', name = '' } = attributes;
  if (name === '' || !/^(?:text|search)$/i.test(type)) return;
  const likely = /^(?:q|s|query|search|keywords?|search_query|searchterm|term|text|w)$/i.test(name);
  if (likely && (form.search || /^search$/i.test(type) || /^(?:q|s)$/.test(name))) form.field ??= name;
}
