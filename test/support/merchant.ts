import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, afterEach } from 'vitest';
import type { Clock } from '../../src/kernel/clock.ts';
import { createOutgoing, type Outgoing, type OutgoingOptions } from '../../src/kernel/outgoing/outgoing.ts';
import type { Parser } from '../../src/kernel/parser/parser.ts';
import { merchantPlatforms } from '../../src/shopping/adapters/platforms.ts';
import { describeAgent } from '../../src/shopping/search/agent.ts';
import { createRobotsCache } from '../../src/shopping/search/merchant-site.ts';
import { describeProduct, type Product } from '../../src/shopping/search/product.ts';
import { createMerchantSearch } from '../../src/shopping/search/search-merchant.ts';
import { readWebsite } from '../../src/shopping/search/website.ts';
import { type Listening, listenHttp } from './listening.ts';
import { useParser } from './parser.ts';

/** What a shop of a test answers at a path: a text is HTML, anything else JSON, and a function does as it likes. */
type Answer = string | object | ((request: Asked, response: ServerResponse) => unknown);

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface TestShop {
  readonly website: string;
  readonly origin: string;
  readonly asked: Asked[];
  /** By path without its query. Everything else is not found, as HTML. */
  answers: Record<string, Answer>;
  readonly server: Listening;
}

/** Somebody's shop on this machine, for as long as the test file runs. Await it at the top of the file. */
export async function startTestShop(): Promise<TestShop> {
  const server = await listenHttp((message, response) => {
    const chunks: Buffer[] = [];
    message.on('data', (chunk: Buffer) => chunks.push(chunk));
    message.on('end', () => {
      const url = new URL(message.url ?? '', 'http://shop.test');
      const { method = '', headers } = message;
      const body = Buffer.concat(chunks).toString();
      const asked = { method, path: url.pathname, query: url.searchParams, headers, body };
      shop.asked.push(asked);
      reply(shop.answers[url.pathname], asked, response);
    });
  });
  const website = `127.0.0.1:${server.port}`;
  const shop: TestShop = { website, origin: `http://${website}`, asked: [], answers: {}, server };
  afterEach(() => {
    shop.answers = {};
    shop.asked.length = 0;
  });
  afterAll(() => server.close());
  return shop;
}

function reply(answer: Answer | undefined, asked: Asked, response: ServerResponse): void {
  if (typeof answer === 'function') answer(asked, response);
  else if (answer === undefined) response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not found</h1>');
  else if (typeof answer === 'string') response.writeHead(200, { 'content-type': 'text/html' }).end(answer);
  else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
}

export interface SearchTools {
  /** What the interface would answer, or the code of the problem. */
  find(query: string, website?: string): Promise<unknown>;
  /** The products with all that is known of them. */
  findWhole(query: string): Promise<readonly Product[]>;
}

/** A search with a memory of its own, for which it is no matter how long it takes unless that is said. */
export function openMerchantSearch({
  outgoing,
  parser,
  clock,
  platforms = merchantPlatforms,
  withinMs = 120_000,
}: {
  readonly outgoing: Outgoing;
  readonly parser: Parser;
  readonly clock: Clock;
  readonly platforms?: typeof merchantPlatforms;
  readonly withinMs?: number | undefined;
}) {
  const agent = describeAgent('https://pay.example');
  const robots = createRobotsCache({ clock });
  return createMerchantSearch({ outgoing, parser, clock, platforms, agent: () => agent, robots, withinMs });
}

/** A search as the service has it, without the service. Only these platforms are asked, if some are named. */
export function useSearch(
  shop: TestShop,
  {
    only = merchantPlatforms.map(({ name }) => name),
    withinMs,
    outgoing: more = {},
  }: { only?: readonly string[]; withinMs?: number; outgoing?: Partial<OutgoingOptions> } = {},
): SearchTools {
  const outgoing = createOutgoing({ allowPrivateHosts: [{ host: '127.0.0.1', port: shop.server.port }], ...more });
  afterAll(() => outgoing.close());
  const parser = useParser();
  const clock = { now: () => Date.now() };

  /** With a memory of its own each time, so that no test knows what another has learned. */
  async function findWhole(query: string, website = shop.website): Promise<readonly Product[]> {
    const platforms = merchantPlatforms.filter(({ name }) => only.includes(name));
    const search = openMerchantSearch({ outgoing, parser, clock, platforms, withinMs });
    const site = readWebsite(website, outgoing);
    if (site.refusal !== undefined) throw new Error(site.refusal);
    const found: Product[] = [];
    for await (const product of search.search(site, query, new AbortController().signal)) found.push(product);
    return found;
  }

  return {
    findWhole,
    async find(query, website) {
      try {
        return (await findWhole(query, website)).map(describeProduct);
      } catch (error) {
        const { status, code } = error as { status?: number; code?: string };
        if (status === undefined) throw error;
        return `${status} ${code}`;
      }
    },
  };
}
