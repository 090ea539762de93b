import type { MerchantSite } from '../../search/merchant-site.ts';
import { notOffered } from '../../search/merchant-trouble.ts';
import { isCapable, type ShopProfile, servicesOf, spokenProfiles } from './profile.ts';

export interface CatalogService {
  readonly version: string;
  readonly transport: 'rest' | 'mcp';
  /** Without a trailing slash. */
  readonly endpoint: string;
}

const searchName = 'dev.ucp.shopping.catalog.search';

export async function discoverCatalog(site: MerchantSite): Promise<readonly CatalogService[]> {
  for await (const profile of spokenProfiles(site)) {
    const services = catalogServices(profile);
    if (services.length > 0) return services;
  }
  throw notOffered('a UCP catalog of a version that we speak');
}

function catalogServices(profile: ShopProfile): CatalogService[] {
  if (!isCapable(profile, searchName)) return [];
  return servicesOf(profile)
    .filter((service): service is CatalogService => service.transport === 'rest' || service.transport === 'mcp')
    .sort((a, b) => Number(a.transport === 'mcp') - Number(b.transport === 'mcp'));
}
