import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { wakeStep } from '../chain-steps/look-at-steps.ts';
import { type Checkpoint, noCheckpoint } from '../checkpoint.ts';
import { monotonicClock, systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { claimDatabase } from '../db/claim-database.ts';
import { type Database, openDatabase } from '../db/database.ts';
import { createSilentChains } from '../deposits/silent-chains.ts';
import type { Parts } from '../feature.ts';
import { createLedger, postingLimits } from '../ledger/ledger.ts';
import type { Logger } from '../logger.ts';
import { openSecrets } from '../operator-secret/open-secrets.ts';
import { portsOf } from '../outgoing/inner-ports.ts';
import { createOutgoing } from '../outgoing/outgoing.ts';
import { builtFile } from '../parser/built-file.ts';
import { createParser } from '../parser/parser.ts';
import type { CallLimits } from '../providers/circle/circle-client.ts';
import { createDenyList } from '../providers/deny-list/deny-list.ts';
import { denyList } from '../providers/deny-list/feature.ts';
import { merchantPlatforms } from '../providers/merchants/platforms.ts';
import { createUcpCheckouts } from '../providers/merchants/ucp/checkout/shop-checkouts.ts';
import { createUniswapMarket } from '../providers/uniswap/uniswap-market.ts';
import type { LocalChains } from '../sandbox/chains/local-chains.ts';
import { sandbox } from '../sandbox/feature.ts';
import type { SandboxSeller } from '../sandbox/seller/open-seller.ts';
import type { SandboxShops } from '../sandbox/shop/open-shops.ts';
import { createAgentKey } from '../shopping/agent-key.ts';
import { openShopping } from '../shopping/open-shopping.ts';
import { treasury } from '../treasury/feature.ts';
import { createGasCosts, freeGas, type GasCosts, type GasCostsParts } from '../treasury/gas-costs.ts';
import { withdrawals } from '../withdrawals/feature.ts';
import { openCustody } from './custody.ts';
import { features as listed } from './features.ts';
import { readGivenSecrets } from './given-secrets.ts';
import {
  type AdapterParts,
  beforeAccountClosingOf,
  eventsOf,
  type ListedFeature,
  onAccountClosingOf,
  onDepositsOf,
  onKeyRotatedOf,
  onKeysEndedOf,
  sagasOf,
  sealedOf,
  settingsOf,
  underWayOfAll,
} from './listed-feature.ts';
import { type Meters, openMeters } from './meters.ts';
import { openOnRamps } from './on-ramps.ts';
import { prepareDatabase } from './prepare-database.ts';
import { tellToStartOver } from './start-over.ts';
import { openStore, openStoreDatabase } from './store.ts';
import { warnOperator } from './warn-operator.ts';

/** What every role stands on, and every feature with it. */
export interface Foundation extends Parts, AdapterParts {
  readonly features: readonly ListedFeature[];
  readonly config: Config;
  readonly say: (line: string) => void;
  readonly url: string;
  /** The address is known now, unless the operator has given another one. */
  readonly listensOn: (port: number) => void;
  /** Run in reverse when the service stops. */
  readonly closers: (() => Promise<unknown>)[];
  /** What is measured on the way, where the operator wants to know. */
  readonly meters: Meters | undefined;
}

export interface FoundationOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly say: (line: string) => void;
  /** Whether a server that runs in the same folder already may be joined. */
  readonly mayJoin: boolean;
  readonly checkpoint?: Checkpoint;
  /** The usual ones, except under test. */
  readonly circleLimits?: Partial<CallLimits>;
  readonly features?: readonly ListedFeature[];
  readonly closers: (() => Promise<unknown>)[];
}

/** Opens everything that both roles need, in order. What was opened is in `closers`, also when a later part fails. */
export async function layFoundation(options: FoundationOptions): Promise<Foundation> {
  const { config, logger, say, mayJoin, closers, checkpoint = noCheckpoint, circleLimits } = options;
  const { features = listed } = options;
  const events = eventsOf(features);
  const store = await openStore({ config, logger, say, mayJoin });
  closers.push(() => store.close());
  say('Preparing the database …');
  await claimDatabase(store.url, config.mode);
  const { lockMs, patienceMs } = config.migration;
  await prepareDatabase(store.url, { features, logger, patience: { lockMs, patienceMs, say } }).catch(
    (error: unknown) => {
      throw tellToStartOver(error, config);
    },
  );
  const db = openStoreDatabase(store, config, logger);
  closers.push(() => db.close());
  await warnOperator(db, config, logger);
  const { secrets, close: letSecretGo } = await openSecrets({
    db,
    url: store.url,
    logger,
    given: await readGivenSecrets(config, db),
    sealed: sealedOf(features),
  });
  closers.push(letSecretGo);

  // Connections of its own, so that no slow query keeps postings waiting.
  const ledgerDb = openDatabase({
    url: store.url,
    poolSize: 2,
    logger,
    applicationName: 'paywright-ledger',
    limits: postingLimits,
  });
  closers.push(() => ledgerDb.close());
  const meters = openMeters(config);
  meters?.pools.set('requests', db.pool).set('ledger', ledgerDb.pool);
  const ledger = createLedger({ db: ledgerDb, logger, onBatch: meters?.batches.count });
  closers.push(() => ledger.stop());

  const localChains = config.mode === 'sandbox' ? await startSandboxChains(db, logger, say) : undefined;
  if (localChains !== undefined) closers.push(() => localChains.stop());
  const innerPorts = portsOf([
    store.url,
    ...(config.redisUrl === undefined ? [] : [config.redisUrl]),
    ...[...(localChains?.settings.values() ?? [])].flatMap(({ urls }) => urls),
  ]);
  let publicUrl = config.publicUrl ?? '';
  const sandboxShops =
    config.mode === 'sandbox' ? await openSandboxShops(config, { logger, publicUrl: () => publicUrl }) : undefined;
  if (sandboxShops !== undefined) closers.push(() => sandboxShops.stop());
  const sandboxSeller = localChains && (await openSandboxSeller(localChains, logger));
  if (sandboxSeller !== undefined) closers.push(() => sandboxSeller.stop());
  const outgoing = createOutgoing({
    allowPrivateHosts: config.allowPrivateHosts,
    names: new Map([...(sandboxShops?.names ?? []), ...(sandboxSeller?.names ?? [])]),
    forbiddenPorts: () => [...innerPorts, ...(meters?.ports ?? [])],
  });
  closers.push(() => outgoing.close());
  const parser = createParser({ program: builtFile('./parser-process.js', import.meta.url), logger });
  closers.push(() => parser.close());
  const custody = await openCustody({
    config,
    db,
    secrets,
    logger,
    checkpoint,
    circleLimits,
    localChains: localChains?.settings,
  });
  const shops = openShopping({
    outgoing,
    parser,
    clock: systemClock,
    platforms: merchantPlatforms,
    publicUrl: () => publicUrl,
  });
  const agentKey = createAgentKey({ db, secrets });
  const checkouts = createUcpCheckouts({
    outgoing,
    parser,
    clock: systemClock,
    robots: shops.robots,
    agent: shops.agent,
    signingKey: agentKey,
    publicUrl: () => publicUrl,
  });
  const market = createUniswapMarket(custody.networks);
  const onRamps = await openOnRamps({ config, db, secrets, localChains, publicUrl: () => publicUrl });
  return {
    features,
    config,
    mode: config.mode,
    logger,
    say,
    checkpoint,
    clock: systemClock,
    url: store.url,
    db,
    secrets,
    ledger,
    networks: custody.networks,
    silentChains: createSilentChains(db, custody.networks),
    provider: custody.provider,
    circle: custody.circle,
    market,
    gasCosts: openGasCosts(config, { networks: custody.networks, market }),
    outgoing,
    parser,
    shops,
    checkouts,
    agentKey,
    screening: createDenyList(settingsOf(config, denyList).file),
    brakes: settingsOf(config, withdrawals),
    ...onRamps,
    localChains,
    sandboxShops,
    sandboxSeller,
    events,
    sagas: sagasOf(features),
    onDeposits: onDepositsOf(features),
    onKeysEnded: onKeysEndedOf(features),
    onKeyRotated: onKeyRotatedOf(features),
    beforeAccountClosing: beforeAccountClosingOf(features),
    onAccountClosing: onAccountClosingOf(features, { publicUrl: () => publicUrl }),
    underWayOf: underWayOfAll(features),
    onTransaction: wakeStep,
    publicUrl: () => publicUrl,
    listensOn(port) {
      publicUrl ||= `http://127.0.0.1:${port}`;
    },
    closers,
    meters,
  };
}

function openGasCosts(config: Config, parts: Pick<GasCostsParts, 'networks' | 'market'>): GasCosts {
  if (config.mode === 'sandbox' && !settingsOf(config, sandbox).chargeGas) return freeGas;
  const { avaxInUsdc } = settingsOf(config, treasury);
  return createGasCosts({ ...parts, avaxInUsdc, clock: monotonicClock });
}

/** Loaded only now: what the sandbox is made of need not be installed for live mode. */
async function startSandboxChains(db: Database, logger: Logger, say: (line: string) => void): Promise<LocalChains> {
  say('Starting six local chains …');
  const { startLocalChains } = await import('../sandbox/chains/local-chains.ts');
  return startLocalChains({ db, logger });
}

async function openSandboxSeller(chains: LocalChains, logger: Logger): Promise<SandboxSeller> {
  const { openSeller } = await import('../sandbox/seller/open-seller.ts');
  return openSeller({ chains, logger });
}

async function openSandboxShops(
  config: Config,
  parts: { readonly logger: Logger; readonly publicUrl: () => string },
): Promise<SandboxShops> {
  const { openShops } = await import('../sandbox/shop/open-shops.ts');
  const { ways } = settingsOf(config, sandbox);
  return openShops({ ...parts, ways, dataDir: shopsDataDir(config) });
}

/** A shop belongs to the books that pay it: where several databases share a folder, each has a shop of its own. */
export function shopsDataDir({ dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>): string {
  if (databaseUrl === undefined) return dataDir;
  const { host, pathname } = new URL(databaseUrl);
  return join(dataDir, 'databases', createHash('sha256').update(`${host}${pathname}`).digest('hex').slice(0, 16));
}
