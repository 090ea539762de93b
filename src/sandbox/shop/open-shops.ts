import type { Logger } from '../../logger.ts';
import type { HostAndPort } from '../../outgoing/private-hosts.ts';
import { type SearchWay, searchWays } from './shop.ts';
import { startShop } from './shop-server.ts';
import { createClosedShop, createDemoShop } from './shops.ts';

/** A shop of the sandbox: by what name it is searched, and where a browser finds it. */
interface OpenShop {
  readonly domain: string;
  readonly url: string;
}

export interface SandboxShops {
  readonly demoShop: OpenShop;
  readonly closedShop: OpenShop;
  /** Where a browser on this machine finds a page of theirs; undefined for any other page. */
  linkFor(url: string): string | undefined;
  /** Where the guard of outgoing requests finds their domains. */
  readonly names: ReadonlyMap<string, HostAndPort>;
  stop(): Promise<void>;
}

/** Every process has shops of its own: they keep nothing, and so they are all alike. */
export async function openShops({
  logger,
  ways = searchWays,
}: {
  readonly logger: Logger;
  readonly ways?: readonly SearchWay[];
}): Promise<SandboxShops> {
  const open = await Promise.all(
    [createDemoShop(ways), createClosedShop()].map(async (shop) => ({ shop, server: await startShop(shop, logger) })),
  );
  const [demoShop, closedShop] = open.map(({ shop: { domain }, server }) => ({
    domain,
    url: `http://127.0.0.1:${server.port}`,
  }));
  if (demoShop === undefined || closedShop === undefined) throw new Error('a shop of the sandbox did not open');
  return {
    demoShop,
    closedShop,
    linkFor(url) {
      const shop = [demoShop, closedShop].find(({ domain }) => new RegExp(`^http://(?:www\\.)?${domain}/`).test(url));
      return shop && shop.url + new URL(url).pathname;
    },
    names: new Map(
      open.flatMap(({ shop: { domain }, server: { port } }) =>
        [domain, `www.${domain}`].map((name) => [name, { host: '127.0.0.1', port }]),
      ),
    ),
    stop: async () => void (await Promise.all(open.map(({ server }) => server.stop()))),
  };
}
