import type { Database } from '../src/kernel/db/database.ts';
import type { Route } from '../src/kernel/http/define-route.ts';
import type { Secrets } from '../src/kernel/secrets/secrets.ts';
import type { LocalChains } from './chains/local-chains.ts';
import { chainsRoute } from './chains-route.ts';
import { faucetRoute } from './faucet-route.ts';
import { fundRoute } from './fund-route.ts';
import { messagesRoute } from './messages-route.ts';
import type { SandboxSeller } from './seller/open-seller.ts';
import type { SandboxShops } from './shop/open-shops.ts';

/** Live mode does not have these routes. */
export interface SandboxParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly chains: LocalChains;
  readonly shops: SandboxShops;
  readonly seller: SandboxSeller;
}

export function sandboxRoutes({ db, secrets, chains, shops, seller }: SandboxParts): Route[] {
  return [
    chainsRoute(chains, shops, seller),
    fundRoute({ db, chains }),
    faucetRoute(chains.faucet),
    messagesRoute({ db, secrets }),
  ];
}
