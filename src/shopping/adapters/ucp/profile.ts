import { parseUrl } from '../../../kernel/text/parse-url.ts';
import type { MerchantSite } from '../../search/merchant-site.ts';
import { notOffered } from '../../search/merchant-trouble.ts';
import { readJson } from '../../search/tasks.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../fields.ts';

/** The versions of the protocol that we speak, the newest first. */
const spokenVersions = ['2026-08-25', '2026-04-08'] as const;

const serviceName = 'dev.ucp.shopping';
const mostBytes = 256_000;

/** What a shop says of itself in one version of the protocol. */
export interface ShopProfile {
  readonly version: string;
  readonly ucp: Fields;
}

/** Where one of its services is. */
export interface ShopService {
  readonly version: string;
  readonly transport: string;
  /** Without a slash at the end. */
  readonly endpoint: string;
}

/**
 * The shop's profiles of the versions that both speak, the newest first. First only which versions it has is read: a profile of a
 * version that we do not speak may look otherwise altogether.
 */
export async function* spokenProfiles(site: MerchantSite): AsyncGenerator<ShopProfile> {
  const root = fieldsOf((await readProfile(site, `${site.origin}/.well-known/ucp`))['ucp']);
  const version = textOf(root['version']) ?? '';
  const others = fieldsOf(root['supported_versions']);
  for (const spoken of spokenVersions) {
    const leaf = textOf(others[spoken]);
    if (version !== spoken && leaf === undefined) continue;
    const ucp = version === spoken || leaf === undefined ? root : fieldsOf((await readProfile(site, leaf))['ucp']);
    // A profile under a date that is not its own is a mistake of the shop's, and nothing in it can be relied on.
    if (textOf(ucp['version']) === spoken) yield { version: spoken, ucp };
  }
}

/** The whole document, with its keys. */
export async function readProfile(site: MerchantSite, url: string): Promise<Fields> {
  const answer = await site.get(url, { accept: 'application/json', elsewhere: true, maxBytes: mostBytes });
  const profile = answer.status === 200 ? fieldsOf(await answer.read(readJson)) : {};
  if (textOf(fieldsOf(profile['ucp'])['version']) === undefined) throw notOffered('a UCP profile');
  return profile;
}

/** Entries of another version than the profile's are dropped one by one; the rest counts. */
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

/** Step by step: a pattern for it would begin anew at each of a thousand slashes in the middle. */
function withoutSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end--;
  return url.slice(0, end);
}
