import { type ChainId, chains, homeChain } from './chains/chains.ts';
import { createNetworks, type NetworkSettings, type Networks } from './chains/network.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import type { Logger } from './logger.ts';
import { createKeysProvider } from './providers/keys/keys-provider.ts';
import type { Secrets } from './secrets.ts';
import { openHouseWallets } from './wallets/house-wallets.ts';
import type { WalletProvider } from './wallets/provider.ts';

/** What holds the money: the chains as we reach them, and whoever has the keys. */
export interface Custody {
  readonly networks: Networks;
  readonly provider: WalletProvider;
}

export interface CustodyParts {
  readonly config: Config;
  readonly db: Database;
  readonly secrets: Secrets;
  readonly logger: Logger;
  /** The sandbox's own chains; in live mode the configuration names them. */
  readonly localChains: ReadonlyMap<ChainId, NetworkSettings> | undefined;
  readonly checkpoint?: Checkpoint;
}

export async function openCustody(parts: CustodyParts): Promise<Custody> {
  const { config, db, secrets, logger, localChains } = parts;
  const networks = createNetworks(localChains ?? liveChains(config));
  const provider = await createKeysProvider({
    db,
    secrets,
    networks,
    logger,
    ...(parts.checkpoint !== undefined && { checkpoint: parts.checkpoint }),
  });
  await openHouseWallets(db, provider, networks);
  return { networks, provider };
}

/** How often a chain is looked at: about once a block, and never so often that a free RPC address would mind. */
const livePollMs = 4_000;

function liveChains({ rpcUrls, eurcOnPolygon }: Config): ReadonlyMap<ChainId, NetworkSettings> {
  return new Map(
    Array.from(rpcUrls, ([id, urls]) => [
      id,
      {
        urls,
        confirmations: chains[id].confirmations,
        pollMs: livePollMs,
        ...(id === homeChain && eurcOnPolygon && { tokens: [{ asset: 'EURC', address: eurcOnPolygon }] }),
      },
    ]),
  );
}
