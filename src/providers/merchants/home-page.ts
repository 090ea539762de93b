import type { MerchantSite } from '../../shopping/merchant-site.ts';
import { notOffered } from '../../shopping/merchant-trouble.ts';
import { type Page, readPage } from './read-page.ts';

export interface HomePage extends Page {
  readonly url: string;
  /** Where its headers say the WordPress API is. */
  readonly wordPressApi: string | undefined;
}

/** Read at most once in a search, by whoever needs it first. */
const read = new WeakMap<MerchantSite, Promise<HomePage>>();

export function homePage(site: MerchantSite): Promise<HomePage> {
  const known = read.get(site);
  if (known !== undefined) return known;
  const reading = readHomePage(site);
  read.set(site, reading);
  // Whoever asks hears how it went; until somebody does, it is nobody's fault.
  reading.catch(() => {});
  return reading;
}

async function readHomePage(site: MerchantSite): Promise<HomePage> {
  const answer = await site.get(`${site.origin}/`, { cut: true });
  if (answer.status >= 400) throw notOffered('a front page');
  const page = readPage(answer.text());
  const header = String(answer.headers['link'] ?? '').slice(0, 2_000);
  const named = /<([^<>]{1,500})>;\s*rel="?https:\/\/api\.w\.org\/"?/.exec(header)?.[1];
  return { ...page, url: answer.url, wordPressApi: named ?? page.wordPressApi };
}
