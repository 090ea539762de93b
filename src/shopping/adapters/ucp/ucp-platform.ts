import { randomUUID } from 'node:crypto';
import type { MerchantPlatform } from '../../search/merchant-platform.ts';
import type { MerchantAnswer, MerchantSite } from '../../search/merchant-site.ts';
import { MerchantTrouble, notOffered } from '../../search/merchant-trouble.ts';
import type { Candidate } from '../../search/product.ts';
import { readCatalog } from '../tasks.ts';
import { isCapable, type ShopProfile, type ShopService, servicesOf, supportedProfiles } from './profile.ts';

const limit = 10;

async function searchCatalog(
  site: MerchantSite,
  service: CatalogService,
  query: string,
): Promise<readonly Candidate[]> {
  const answer =
    service.transport === 'rest' ? await askRest(site, service, query) : await askMcp(site, service, query);
  const { transport } = service;
  const products = answer.status === 200 ? await answer.read(readCatalog, { transport }) : undefined;
  if (products === undefined) throw notOffered('its UCP catalog to us');
  return products;
}

function askRest(site: MerchantSite, { endpoint }: CatalogService, query: string): Promise<MerchantAnswer> {
  return site.postJson(
    `${endpoint}/catalog/search`,
    { query, pagination: { limit } },
    { 'UCP-Agent': `profile="${site.agent.profileUrl}"`, 'Request-Id': randomUUID() },
  );
}

function askMcp(site: MerchantSite, { endpoint }: CatalogService, query: string): Promise<MerchantAnswer> {
  return site.postJson(
    endpoint,
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'search_catalog',
        arguments: {
          meta: { 'ucp-agent': { profile: site.agent.profileUrl } },
          catalog: { query, pagination: { limit } },
        },
      },
    },
    // Some servers answer with an event stream of one event and reject clients that do not accept both types.
    { accept: 'application/json, text/event-stream', 'Request-Id': randomUUID() },
  );
}

interface CatalogService extends ShopService {
  readonly transport: 'rest' | 'mcp';
}

const searchName = 'dev.ucp.shopping.catalog.search';

async function discoverCatalog(site: MerchantSite): Promise<readonly CatalogService[]> {
  for await (const profile of supportedProfiles(site)) {
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

/** The Universal Commerce Protocol. Shopify shops support it too. */
export const ucpPlatform: MerchantPlatform = {
  name: 'ucp',
  // Shopify's catalog terms forbid caching, and an endpoint does not show whether Shopify runs it.
  keepsNothing: true,
  async *search(site, query) {
    let last: unknown;
    for (const service of await discoverCatalog(site)) {
      try {
        yield* await searchCatalog(site, service, query);
        return;
      } catch (error) {
        // Another transport may work.
        if (!(error instanceof MerchantTrouble) || error.kind !== 'not_offered') throw error;
        last = error;
      }
    }
    throw last;
  },
};
