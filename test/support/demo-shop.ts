import { type OpenShopsOptions, openShops, type SandboxShops } from '../../sandbox/shop/open-shops.ts';
import { createLogger } from '../../src/kernel/log/logger.ts';
import { type PayingService, startPayingService, type UcpVersion } from './paying-service.ts';
import { createShopClient } from './shop-client.ts';

/** The demo shop with somebody who buys there and pays. */
export async function openDemoShop(more: Partial<OpenShopsOptions> = {}) {
  let shops: SandboxShops | undefined;
  const shopUrl = () => shops?.demoShop.url ?? '';
  const service = await startPayingService({ shopUrl });
  shops = await openShops({ logger: createLogger('silent'), publicUrl: () => service.url, ...more });
  const { switches, stop } = shops;
  if (switches === undefined) throw new Error('the shop runs elsewhere');
  return {
    shops,
    shopUrl,
    service,
    switches,
    clientOf: (version: UcpVersion = '2026-08-25', agent: PayingService = service) =>
      createShopClient({ shopUrl, service: agent, version }),
    close: () => Promise.all([stop(), service.close()]),
  };
}
