import { join } from 'node:path';
import { type SearchWay, searchWays } from '../../src/app/sandbox-port.ts';
import type { Logger } from '../../src/kernel/log/logger.ts';
import type { HostAndPort } from '../../src/kernel/outgoing/private-hosts.ts';
import { catalog } from './catalog.ts';
import { openCheckout } from './checkout/open-checkout.ts';
import { keepShop } from './keep-shop.ts';
import { createClosedShop, createDemoShop, demoDomain } from './shop.ts';
import { startShop } from './shop-server.ts';

export type SandboxShops = Awaited<ReturnType<typeof openShops>>;

export interface OpenShopsOptions {
  readonly logger: Logger;
  /** The service that pays the demo shop. */
  readonly publicUrl: () => string;
  /** Where the demo shop keeps its orders; without it they are forgotten on close. */
  readonly dataDir?: string;
  readonly ways?: readonly SearchWay[];
}

/** All processes on one folder share the demo shop. The closed shop keeps nothing, so each process has its own. */
export async function openShops({ logger, publicUrl, dataDir, ways = searchWays }: OpenShopsOptions) {
  const demo = await keepShop({
    folder: dataDir === undefined ? undefined : join(dataDir, 'shop'),
    logger,
    open: (where) => openDemoShop({ ...where, logger, publicUrl, ways }),
  });
  const closing = createClosedShop();
  const closed = await startShop(closing, logger);
  const open = [
    { domain: demoDomain, at: demo },
    { domain: closing.domain, at: closed },
  ].map(({ domain, at }) => ({
    /** For searches. */
    domain,
    // For a local browser. A getter, because the demo shop may move to another process.
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
    /** Undefined while another process runs the demo shop. */
    get switches() {
      return demo.mine?.switches;
    },
    /** The local URL of one of their pages; undefined for any other page. */
    linkFor(url: string): string | undefined {
      const shop = open.find(({ domain }) => new RegExp(`^http://(?:www\\.)?${domain}/`).test(url));
      return shop && shop.url + new URL(url).pathname;
    },
    /** For the address guard. */
    names: new Map<string, HostAndPort>(
      open.flatMap(({ domain, place }) => [domain, `www.${domain}`].map((name) => [name, place])),
    ),
    stop: async () => void (await Promise.all([demo.stop(), closed.stop()])),
  };
}

interface OpenDemoShopOptions extends Required<Omit<OpenShopsOptions, 'dataDir'>> {
  readonly folder: string | undefined;
  /** The previous port. */
  readonly port: number;
}

async function openDemoShop({ folder, port: before, logger, publicUrl, ways }: OpenDemoShopOptions) {
  let port = before;
  const authorities = () => [demoDomain, `www.${demoDomain}`, `127.0.0.1:${port}`, `localhost:${port}`];
  const checkout = await openCheckout({ catalog, domain: demoDomain, authorities, publicUrl, logger, folder });
  const server = await startShop(createDemoShop(ways, checkout), logger, port);
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
