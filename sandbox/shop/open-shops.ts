import { join } from 'node:path';
import { type SearchWay, searchWays } from '../../src/app/sandbox-port.ts';
import type { Logger } from '../../src/kernel/log/logger.ts';
import type { HostAndPort } from '../../src/kernel/outgoing/private-hosts.ts';
import { catalog } from './catalog.ts';
import { openCheckout } from './checkout/open-checkout.ts';
import type { ShopSwitches } from './checkout/switches.ts';
import { keepShop } from './keep-shop.ts';
import { startShop } from './shop-server.ts';
import { createClosedShop, createDemoShop, demoDomain } from './shops.ts';

/** A shop of the sandbox: by what name it is searched, and where a browser finds it. */
interface OpenShop {
  readonly domain: string;
  readonly url: string;
}

export interface SandboxShops {
  readonly demoShop: OpenShop;
  readonly closedShop: OpenShop;
  /** How the demo shop behaves; undefined while another process runs it. */
  readonly switches: ShopSwitches | undefined;
  /** Where a browser on this machine finds a page of theirs; undefined for any other page. */
  linkFor(url: string): string | undefined;
  /** Where the guard of outgoing requests finds their domains. */
  readonly names: ReadonlyMap<string, HostAndPort>;
  stop(): Promise<void>;
}

export interface OpenShopsOptions {
  readonly logger: Logger;
  /** Where the service is that pays the demo shop. */
  readonly publicUrl: () => string;
  /** Where the demo shop keeps its orders, in a folder of its own; without one it forgets them when it closes. */
  readonly dataDir?: string;
  readonly ways?: readonly SearchWay[];
}

/** The demo shop is one for all processes on a folder. The closed one keeps nothing, so each process has its own. */
export async function openShops({
  logger,
  publicUrl,
  dataDir,
  ways = searchWays,
}: OpenShopsOptions): Promise<SandboxShops> {
  const demo = await keepShop({
    folder: dataDir === undefined ? undefined : join(dataDir, 'shop'),
    logger,
    open: (where) => openDemoShop({ ...where, logger, publicUrl, ways }),
  });
  const closing = createClosedShop();
  const closed = await startShop(closing, { logger });
  const open = [
    { domain: demoDomain, at: demo },
    { domain: closing.domain, at: closed },
  ].map(({ domain, at }) => ({
    domain,
    // Asked each time: the demo shop may move to another process.
    get url() {
      return `http://127.0.0.1:${at.port}`;
    },
    place: {
      host: '127.0.0.1',
      get port() {
        return at.port;
      },
    },
  }));
  const [demoShop, closedShop] = open;
  if (demoShop === undefined || closedShop === undefined) throw new Error('a shop of the sandbox did not open');
  return {
    demoShop,
    closedShop,
    get switches() {
      return demo.mine?.switches;
    },
    linkFor(url) {
      const shop = open.find(({ domain }) => new RegExp(`^http://(?:www\\.)?${domain}/`).test(url));
      return shop && shop.url + new URL(url).pathname;
    },
    names: new Map(open.flatMap(({ domain, place }) => [domain, `www.${domain}`].map((name) => [name, place]))),
    stop: async () => void (await Promise.all([demo.stop(), closed.stop()])),
  };
}

interface OpenDemoShopOptions extends Required<Omit<OpenShopsOptions, 'dataDir'>> {
  readonly folder: string | undefined;
  /** Where it was before. */
  readonly port: number;
}

async function openDemoShop({ folder, port: before, logger, publicUrl, ways }: OpenDemoShopOptions) {
  let port = before;
  const authorities = () => [demoDomain, `www.${demoDomain}`, `127.0.0.1:${port}`, `localhost:${port}`];
  const checkout = await openCheckout({ catalog, domain: demoDomain, authorities, publicUrl, logger, folder });
  const server = await startShop(createDemoShop({ ways, checkout }), { logger, port });
  port = server.port;
  return {
    port,
    switches: checkout.switches,
    async stop() {
      await Promise.all([checkout.stopAsking(), server.stop()]);
      await checkout.close();
    },
  };
}
