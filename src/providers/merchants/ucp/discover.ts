import type { MerchantSite } from '../../../shopping/merchant-site.ts';
import { notOffered } from '../../../shopping/merchant-trouble.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../fields.ts';

/** The versions of the protocol that we speak, the newest first. */
const spokenVersions = ['2026-08-25', '2026-04-08'] as const;

/** Where a shop's catalog can be searched, by the profile of one version. */
export interface CatalogService {
  readonly version: string;
  readonly transport: 'rest' | 'mcp';
  /** Without a slash at the end. */
  readonly endpoint: string;
}

const serviceName = 'dev.ucp.shopping';
const searchName = 'dev.ucp.shopping.catalog.search';

/**
 * Reads the shop's profile. First only which versions it has: a profile of a version that we do not speak may look
 * otherwise altogether. Then the profile of the newest that both speak.
 */
export async function discoverCatalog(site: MerchantSite): Promise<readonly CatalogService[]> {
  const root = await readProfile(site, `${site.origin}/.well-known/ucp`);
  const version = textOf(root['version']) ?? '';
  const others = fieldsOf(root['supported_versions']);
  for (const spoken of spokenVersions) {
    const leaf = textOf(others[spoken]);
    if (version !== spoken && leaf === undefined) continue;
    const profile = version === spoken || leaf === undefined ? root : await readProfile(site, leaf);
    // A profile under a date that is not its own is a mistake of the shop's, and nothing in it can be relied on.
    if (textOf(profile['version']) !== spoken) continue;
    const services = catalogServices(profile, spoken);
    if (services.length > 0) return services;
  }
  throw notOffered('a UCP catalog of a version that we speak');
}

async function readProfile(site: MerchantSite, url: string): Promise<Fields> {
  const answer = await site.get(url, { accept: 'application/json', elsewhere: true });
  const profile = answer.status === 200 ? fieldsOf(fieldsOf(answer.json())['ucp']) : {};
  if (textOf(profile['version']) === undefined) throw notOffered('a UCP profile');
  return profile;
}

/** Entries of another version than the profile's are dropped one by one; the rest counts. */
function catalogServices(profile: Fields, version: string): CatalogService[] {
  const ofVersion = (registry: unknown, name: string) =>
    listOf(fieldsOf(registry)[name])
      .map(fieldsOf)
      .filter((entry) => textOf(entry['version']) === version);
  if (ofVersion(profile['capabilities'], searchName).length === 0) return [];
  return ofVersion(profile['services'], serviceName)
    .flatMap(({ transport, endpoint }): CatalogService[] => {
      const url = textOf(endpoint);
      if ((transport !== 'rest' && transport !== 'mcp') || url === undefined || !URL.canParse(url)) return [];
      return [{ version, transport, endpoint: url.replace(/\/+$/, '') }];
    })
    .sort((a, b) => Number(a.transport === 'mcp') - Number(b.transport === 'mcp'));
}
