import { parseUrl } from '../../../../kernel/text/parse-url.ts';
import { isWithinSite, type Website } from '../../../search/website.ts';
import { fieldsOf, listOf, textOf } from '../../fields.ts';
import type { Page } from '../read-page.ts';
import { hasType, walkJsonLd } from './walk.ts';

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
