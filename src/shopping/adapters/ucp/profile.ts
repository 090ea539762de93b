import { parseUrl } from '../../../kernel/text/parse-url.ts';
import type { MerchantSite } from '../../search/merchant-site.ts';
import { notOffered } from '../../search/merchant-trouble.ts';
import { readJson } from '../../search/tasks.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../fields.ts';

/** Supported UCP versions, newest first. */
const spokenVersions = ['2026-08-25', '2026-04-08'] as const;

const serviceName = 'dev.ucp.shopping';
const mostBytes = 256_000;

export interface ShopProfile {
  readonly version: string;
  readonly ucp: Fields;
}

export interface ShopService {
  readonly version: string;
  readonly transport: string;
  /** Without a trailing slash. */
  readonly endpoint: string;
}

/**
 * The shop's profiles in the versions that we support, newest first. The version is checked before any other field, because other
 * versions may have another structure.
 */
export async function* supportedProfiles(site: MerchantSite): AsyncGenerator<ShopProfile> {
  const root = fieldsOf((await readProfile(site, `${site.origin}/.well-known/ucp`))['ucp']);
  const version = textOf(root['version']) ?? '';
  const others = fieldsOf(root['supported_versions']);
  for (const spoken of spokenVersions) {
    const leaf = textOf(others[spoken]);
    if (version !== spoken && leaf === undefined) continue;
    const ucp = version === spoken || leaf === undefined ? root : fieldsOf((await readProfile(site, leaf))['ucp']);
    // A profile whose version contradicts its listing is a mistake of the shop and is not trusted.
    if (textOf(ucp['version']) === spoken) yield { version: spoken, ucp };
  }
}

/** The whole document, including its keys. */
export async function readProfile(site: MerchantSite, url: string): Promise<Fields> {
  const answer = await site.get(url, { accept: 'application/json', elsewhere: true, maxBytes: mostBytes });
  const profile = answer.status === 200 ? fieldsOf(await answer.read(readJson)) : {};
  if (textOf(fieldsOf(profile['ucp'])['version']) === undefined) throw notOffered('a UCP profile');
  return profile;
}

/** Entries of another version are ignored one by one. */
export function isCapable({ version, ucp }: ShopProfile, name: string): boolean {
  return listOf(fieldsOf(ucp['capabilities'])[name]).some((entry) => textOf(fieldsOf(entry)['version']) === version);
}

export function servicesOf({ version, ucp }: ShopProfile): ShopService[] {
  return listOf(fieldsOf(ucp['services'])[serviceName])
    .map(fieldsOf)
    .filter((entry) => textOf(entry['version']) === version)
    .flatMap(({ transport, endpoint }): ShopService[] => {
      const url = textOf(endpoint);
      if (url === undefined || url.length > 2_000 || parseUrl(url) === undefined) return [];
      return [{ version, transport: textOf(transport) ?? '', endpoint: withoutSlashes(url) }];
    });
}

/** A loop, because a regular expression would restart at every slash in a long run. */
function withoutSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end--;
  return url.slice(0, end);
}
