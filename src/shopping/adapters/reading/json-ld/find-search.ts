import { parseUrl } from '../../../../kernel/text/parse-url.ts';
import { wordsOf } from '../../../search/rank.ts';
import { isWithinSite, type Website } from '../../../search/website.ts';
import { fieldsOf, listOf, textOf } from '../../fields.ts';
import type { Page } from '../read-page.ts';
import { hasType, walkJsonLd } from './read-json-ld.ts';

/** Common search URLs, for sites that declare none. */
const usualPaths = ['/search?q=', '/?s=', '/catalogsearch/result/?q=', '/search?query='];

const longestAddress = 2_000;

export interface SearchPage {
  readonly url: string;
  /** Whether the site declares it; otherwise it is a guess. */
  readonly declared: boolean;
}

/** URLs that may return search results, most likely first: declared in markup, the search form, common paths. */
export function findSearchPages(
  site: Website,
  page: Page & { readonly url: string },
  query: string,
): readonly SearchPage[] {
  const word = encodeURIComponent(query);
  const declared = walkJsonLd(page.jsonLd)
    .filter((node) => hasType(node, ['SearchAction']))
    .flatMap((action) => templatesOf(action).map((template) => fillIn(template, word)));
  const forms = page.searchForms.map(({ action, field }) => fromForm(page.url, action, field, query));
  const usual = usualPaths.map((path) => `${site.origin}${path}${word}`);
  const within = (texts: readonly (string | undefined)[]) =>
    texts.flatMap((text) => {
      const url = text === undefined || text.length > longestAddress ? undefined : parseUrl(text, page.url);
      if (url === undefined) return [];
      return /^https?:$/.test(url.protocol) && isWithinSite(site, url) ? [url.href] : [];
    });
  const told = new Set(within([...declared, ...forms]));
  return [
    ...Array.from(told, (url) => ({ url, declared: true })),
    ...within(usual)
      .filter((url) => !told.has(url))
      .map((url) => ({ url, declared: false })),
  ];
}

/** A target is a text, an EntryPoint, or a list of them. */
function templatesOf(action: Readonly<Record<string, unknown>>): string[] {
  return listOf(action['target'], 10).flatMap((target) => {
    const text = typeof target === 'string' ? target : textOf(fieldsOf(target)['urlTemplate']);
    return text === undefined || text.length > 1_000 ? [] : [text];
  });
}

/** Fills in the placeholder, whatever its name. If it was lost, the query goes after a trailing "?q=". */
function fillIn(template: string, word: string): string | undefined {
  const filled = template.replace(/\{[^{}]{0,60}\}/g, () => word);
  if (filled !== template) return filled;
  return /[?&][\w.[\]-]{1,40}=$/.test(template) ? template + word : undefined;
}

function fromForm(base: string, action: string, field: string, query: string): string | undefined {
  if (parseUrl(action, base) === undefined) return undefined;
  const url = new URL(action, base);
  url.search = '';
  url.searchParams.set(field, query);
  return url.href;
}

/** Product pages that a results page links to: first those listed in its markup, then links that look like product pages. */
export function findProductLinks(
  site: Website,
  page: Page,
  { at, query }: { readonly at: string; readonly query: string },
): readonly string[] {
  const listed = walkJsonLd(page.jsonLd)
    .filter((node) => hasType(node, ['ItemList', 'ListItem']))
    .flatMap((node) => [...listOf(node['itemListElement']), ...(hasType(node, ['ListItem']) ? [node] : [])])
    .flatMap((element) => addressesOf(element));
  const asked = wordsOf(query);
  const linked = page.links
    .map(({ href, text }, place) => ({ href, place, score: scoreOf({ href, text }, asked) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.place - b.place)
    .map(({ href }) => href);
  const within = [...listed, ...linked].flatMap((text) => {
    if (text.length > 1_000 || parseUrl(text, at) === undefined) return [];
    const url = new URL(text, at);
    url.hash = '';
    const leadsOn =
      /^https?:$/.test(url.protocol) && isWithinSite(site, url) && url.pathname !== '/' && url.href !== at;
    return leadsOn ? [url.href] : [];
  });
  return [...new Set(within)];
}

function addressesOf(element: unknown): string[] {
  if (typeof element === 'string') return [element];
  const { url, item } = fieldsOf(element);
  const inner = typeof item === 'string' ? item : (textOf(fieldsOf(item)['url']) ?? textOf(fieldsOf(item)['@id']));
  return [textOf(url), inner].flatMap((text) => text ?? []);
}

/** Counts query words in the link text and URL, plus one point for a typical product path. */
function scoreOf({ href, text }: { href: string; text: string }, asked: readonly string[]): number {
  if (
    /[?&](?:add-to-cart|sort|page|filter)|\/(?:cart|account|login|search|blog|pages?|tag|category|collections)\b/i.test(
      href,
    )
  ) {
    const insideCollection = /\/collections\/[^/]+\/products\//i.test(href);
    if (!insideCollection) return 0;
  }
  const words = new Set([...wordsOf(text), ...wordsOf(href.slice(0, 300))]);
  const found = asked.filter(
    (word) => words.has(word) || words.has(`${word}s`) || words.has(word.replace(/s$/, '')),
  ).length;
  return found === 0 ? 0 : found + (/\/(?:products?|p|item|dp|shop|artikel|produkt|produit)\//i.test(href) ? 1 : 0);
}
