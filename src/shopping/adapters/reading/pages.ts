import type { AnswerBytes } from '../../../kernel/parser/task.ts';
import { parseUrl } from '../../../kernel/text/parse-url.ts';
import { readCurrency } from '../../search/price.ts';
import type { Candidate } from '../../search/product.ts';
import { cleanBrand, cleanCandidates } from '../../search/reading/clean-candidate.ts';
import { readText } from '../../search/reading/read-answer.ts';
import type { Website } from '../../search/website.ts';
import { textOf } from '../fields.ts';
import { findProductLinks, findSearchPages, type SearchPage } from './json-ld/find-search.ts';
import { hasType, walkJsonLd } from './json-ld/read-json-ld.ts';
import { readProducts } from './json-ld/read-products.ts';
import { type Page, readPage } from './read-page.ts';

/** A page and its final URL. */
export interface PageBytes extends AnswerBytes {
  readonly url: string;
}

interface SearchedPage extends PageBytes {
  readonly site: Website;
  readonly query: string;
}

export interface FrontPage {
  readonly shopName: string | undefined;
  readonly wordPressApi: string | undefined;
  readonly searchPages: readonly SearchPage[];
}

const longestAddress = 2_000;
const mostSearchPages = 4;
const mostProductPages = 8;

export function readFrontPage({ url, site, query, ...answer }: SearchedPage): FrontPage {
  const page = readPage(readText(answer));
  const { wordPressApi } = page;
  return {
    shopName: shopName(page),
    wordPressApi: wordPressApi === undefined || wordPressApi.length > longestAddress ? undefined : wordPressApi,
    searchPages: findSearchPages(site, { ...page, url }, query).slice(0, mostSearchPages),
  };
}

/** Products that a results page describes itself, and the product pages that it links to. */
export interface Results {
  readonly products: readonly Candidate[];
  readonly links: readonly string[];
}

export function readResults({ url, site, query, ...answer }: SearchedPage): Results {
  const page = readPage(readText(answer));
  const products = readProducts(page.jsonLd, page.priceCurrency).map(foundAt(url));
  return {
    products: cleanCandidates(products),
    links: findProductLinks(site, page, { at: url, query }).slice(0, mostProductPages),
  };
}

/** The first product with a price is what the page is about. */
export function readProductPage({ url, ...answer }: PageBytes): Candidate | undefined {
  const page = readPage(readText(answer));
  const products = readProducts(page.jsonLd, page.priceCurrency)
    .filter(({ price }) => price !== undefined)
    .slice(0, 1)
    .map((product) => foundAt(url)({ ...product, url: product.url ?? url }));
  return cleanCandidates(products)[0];
}

/** The currency of the page's product. */
export function readPageCurrency(answer: AnswerBytes): string | undefined {
  const page = readPage(readText(answer));
  const [described] = readProducts(page.jsonLd, page.priceCurrency);
  return described?.price?.currency ?? readCurrency(page.priceCurrency);
}

/** Resolves relative URLs against the page. */
function foundAt(base: string): (candidate: Candidate) => Candidate {
  const absolute = (text: string | undefined) =>
    text === undefined || text.length > longestAddress ? text : (parseUrl(text, base)?.href ?? text);
  return (candidate) => ({
    ...candidate,
    url: absolute(candidate.url),
    picture: candidate.picture && { ...candidate.picture, url: absolute(candidate.picture.url) ?? '' },
  });
}

/** The shop's name from its front page, for products without a brand. */
function shopName(page: Page): string | undefined {
  const named = walkJsonLd(page.jsonLd).filter((node) =>
    hasType(node, ['WebSite', 'Organization', 'OnlineStore', 'Store']),
  );
  // Titles often look like "Shop – the best mugs in town".
  return cleanBrand(
    page.siteName ??
      named.map(({ name }) => textOf(name)).find((name) => name !== undefined) ??
      page.title?.split(/\s[|–—·-]\s/)[0],
  );
}
