import { randomUUID } from 'node:crypto';
import type { MerchantAnswer, MerchantSite } from '../../search/merchant-site.ts';
import { notOffered } from '../../search/merchant-trouble.ts';
import type { Candidate } from '../../search/product.ts';
import { readCatalog } from '../tasks.ts';
import type { CatalogService } from './discover.ts';

const limit = 10;

export async function searchCatalog(
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
