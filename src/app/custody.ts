import type { WalletSource } from '../accounts/insert-account.ts';
import { createNetworks, type NetworkSettings, type Networks } from '../chains/network.ts';
import { lookUpWitnesses } from '../chains/witness.ts';
import type { CallLimits } from '../custody/adapters/circle/circle-client.ts';
import { type CircleWork, circle as circleFeature } from '../custody/adapters/circle/feature.ts';
import { createKeysProvider } from '../custody/adapters/keys/keys-provider.ts';
import { treasury as treasuryFeature } from '../custody/treasury/feature.ts';
import { openHouseWallets } from '../custody/wallets/house-wallets.ts';
import { createPooledProvider } from '../custody/wallets/pool.ts';
import type { SeedRotation, UnknownTransactions, WalletProvider } from '../custody/wallets/provider.ts';
import { beginChains } from '../custody/watch/chain-cursor.ts';
import { type Database, openDatabase } from '../kernel/db/database.ts';
import type { Logger } from '../kernel/log/logger.ts';
import type { Checkpoint } from '../kernel/sagas/checkpoint.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import { createLedger, postingLimits } from '../ledger/ledger.ts';
import { type ChainId, chains, homeChain } from '../money/catalogue.ts';
import { openStoreSecrets } from './database.ts';
import { features as listed } from './features.ts';
import { type ListedFeature, sagasOf, settingsOf } from './listed-feature.ts';
import type { CommandParts } from './parts.ts';
import { loadSandbox } from './sandbox.ts';
import type { ServiceSettings } from './settings.ts';

/** The chains and the wallet provider that holds the keys. */
export interface Custody {
  readonly networks: Networks;
  readonly provider: WalletProvider & Pick<WalletSource, 'giveBack'>;
  readonly circle: CircleWork['circle'];
  /** Only with our own keys. */
  readonly unknownTransactions: UnknownTransactions | undefined;
  readonly seedRotation: SeedRotation | undefined;
}

export interface CustodyParts {
  readonly config: ServiceSettings;
  readonly db: Database;
  readonly secrets: Secrets;
  readonly logger: Logger;
  /** The sandbox's own chains. In live mode the configuration names them. */
  readonly localChains: ReadonlyMap<ChainId, NetworkSettings> | undefined;
  readonly checkpoint?: Checkpoint;
  /** Only set by tests. */
  readonly circleLimits?: Partial<CallLimits> | undefined;
}

export async function openCustody(parts: CustodyParts): Promise<Custody> {
  const networks = createNetworks(withCeilings(parts.config, parts.localChains ?? (await liveChains(parts.config))));
  const custody = await chooseProvider(parts, networks);
  await openHouseWallets(parts.db, custody.provider, networks);
  await beginChains(parts.db, networks);
  return custody;
}

function withCeilings(
  config: ServiceSettings,
  settings: ReadonlyMap<ChainId, NetworkSettings>,
): ReadonlyMap<ChainId, NetworkSettings> {
  const { feeCeilings } = settingsOf(config, treasuryFeature);
  return new Map(
    Array.from(settings, ([id, given]) => {
      const feeCeiling = feeCeilings.get(id);
      return [id, { ...given, ...(feeCeiling && { feeCeiling }) }];
    }),
  );
}

/** Wallets kept ready for new accounts, because Circle creates only five per second. */
const poolSize = 100;

async function chooseProvider(parts: CustodyParts, networks: Networks) {
  const { config, db, secrets, logger, checkpoint, circleLimits: limits } = parts;
  const settings = settingsOf(config, circleFeature);
  if (settings === undefined) {
    const provider = await createKeysProvider({ db, secrets, networks, logger, ...(checkpoint && { checkpoint }) });
    const { unknown: unknownTransactions, seedRotation } = provider;
    return { networks, provider, circle: undefined, unknownTransactions, seedRotation };
  }
  // Loaded late: Circle's SDK takes longer to load than everything else together, and most deployments do not need it.
  const { createCircleProvider } = await import('../custody/adapters/circle/circle-provider.ts');
  const circle = await createCircleProvider({ ...settings, db, logger, networks, ...(limits && { limits }) });
  const pool = createPooledProvider({ db, provider: circle, logger, size: poolSize });
  return {
    networks,
    provider: pool,
    circle: { provider: circle, pool },
    unknownTransactions: undefined,
    seedRotation: undefined,
  };
}

/** About once per block, and within the limits of free RPC endpoints. */
const livePollMs = 4_000;

async function liveChains({ rpcUrls, eurcOnPolygon }: ServiceSettings): Promise<ReadonlyMap<ChainId, NetworkSettings>> {
  const settings = Array.from(
    rpcUrls,
    async ([id, urls]): Promise<[ChainId, NetworkSettings]> => [
      id,
      {
        urls,
        witness: await lookUpWitnesses(urls),
        confirmations: chains[id].confirmations,
        pollMs: livePollMs,
        ...(id === homeChain && eurcOnPolygon && { tokens: [{ asset: 'EURC', address: eurcOnPolygon }] }),
      },
    ],
  );
  return new Map(await Promise.all(settings));
}

export interface CommandOptions {
  readonly config: ServiceSettings;
  readonly logger: Logger;
  readonly url: string;
  readonly db: Database;
  readonly features?: readonly ListedFeature[];
}

/** Opens the same parts as the service, for a command that runs beside it. */
export async function openCommandParts({ config, logger, url, db, features = listed }: CommandOptions) {
  const opened = await openStoreSecrets({ config, db, url, logger }, features);
  const { secrets } = opened;
  const localChains = config.mode === 'sandbox' ? await (await loadSandbox(config)).connectNetworks(db) : undefined;
  const custody = await openCustody({ config, db, secrets, logger, localChains });
  const ledgerDb = openDatabase({ url, poolSize: 1, logger, limits: postingLimits });
  const ledger = createLedger({ db: ledgerDb, logger });
  const parts: CommandParts = {
    ...custody,
    secrets,
    db,
    ledger,
    sagas: sagasOf(features),
  };
  return {
    parts,
    async close() {
      await ledger.stop();
      await ledgerDb.close();
      await opened.close();
    },
  };
}
