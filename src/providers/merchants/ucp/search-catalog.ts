import { randomUUID } from 'node:crypto';
import type { MerchantAnswer, MerchantSite } from '../../../shopping/merchant-site.ts';
import { notOffered } from '../../../shopping/merchant-trouble.ts';
import { parseJson } from '../../../shopping/read-answer.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../fields.ts';
import type { CatalogService } from './discover.ts';

const limit = 10;

/** Asks the catalog over either transport. Answers the products as the shop describes them. */
export async function searchCatalog(
  site: MerchantSite,
  service: CatalogService,
  query: string,
): Promise<readonly Fields[]> {
  const answer =
    service.transport === 'rest' ? await askRest(site, service, query) : await askMcp(site, service, query);
  const { ucp, products } = answer;
  if (textOf(fieldsOf(ucp)['status']) === 'error' || !Array.isArray(products))
    throw notOffered('its UCP catalog to us');
  return listOf(products, limit).map(fieldsOf);
}

async function askRest(site: MerchantSite, { endpoint }: CatalogService, query: string): Promise<Fields> {
  const answer = await site.postJson(
    `${endpoint}/catalog/search`,
    { query, pagination: { limit } },
    { 'UCP-Agent': `profile="${site.agent.profileUrl}"`, 'Request-Id': randomUUID() },
  );
  if (answer.status !== 200) throw notOffered('its UCP catalog to us');
  return fieldsOf(answer.json());
}

async function askMcp(site: MerchantSite, { endpoint }: CatalogService, query: string): Promise<Fields> {
  const answer = await site.postJson(
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
    // Some answer with a stream of one event even to those who would rather have it plain, and refuse who takes only that.
    { accept: 'application/json, text/event-stream', 'Request-Id': randomUUID() },
  );
  const { result, error } = answer.status === 200 ? fieldsOf(readRpc(answer)) : {};
  const { structuredContent, content, isError } = fieldsOf(result);
  if (error !== undefined || isError === true) throw notOffered('its UCP catalog to us');
  if (structuredContent !== undefined) return fieldsOf(structuredContent);
  const [first] = listOf(content).map(fieldsOf);
  return fieldsOf(parseJson(textOf(first?.['text']) ?? ''));
}

function readRpc(answer: MerchantAnswer): unknown {
  if (!/^text\/event-stream\b/i.test(String(answer.headers['content-type'] ?? ''))) return answer.json();
  const messages = answer
    .text()
    .split(/\r?\n\r?\n/)
    .map((event) =>
      event
        .split(/\r?\n/)
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5))
        .join('\n'),
    );
  return messages.map(parseJson).find((message) => 'result' in fieldsOf(message) || 'error' in fieldsOf(message));
}
