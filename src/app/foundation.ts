import type { CallLimits } from '../custody/adapters/circle/circle-client.ts';
import { createDenyList } from '../custody/adapters/deny-list/deny-list.ts';
import { denyList } from '../custody/adapters/deny-list/feature.ts';
import { wakeSagaOf } from '../custody/steps/chain-step.ts';
import { treasury } from '../custody/treasury/feature.ts';
import { createGasCosts, freeGas, type GasCosts, type GasCostsParts } from '../custody/treasury/gas-costs.ts';
import { createSilentChains } from '../custody/watch/silent-chains.ts';
import { monotonicClock, systemClock } from '../kernel/clock.ts';
import { claimDatabase } from '../kernel/db/claim-database.ts';
import { openDatabase, type Queryable } from '../kernel/db/database.ts';
import { usualPatience } from '../kernel/db/migration-lock.ts';
import { createNotice } from '../kernel/jobs/wakes.ts';
import type { Logger } from '../kernel/log/logger.ts';
import { metrics } from '../kernel/metrics/feature.ts';
import type { MetricSource } from '../kernel/metrics/metric.ts';
import type { CountedPool } from '../kernel/metrics/process-metrics.ts';
import { createRequestMeter, type RequestMeter } from '../kernel/metrics/request-metrics.ts';
import { createOutgoing } from '../kernel/outgoing/outgoing.ts';
import { portsOf } from '../kernel/outgoing/private-hosts.ts';
import { builtFile, createParser } from '../kernel/parser/parser.ts';
import { type Checkpoint, noCheckpoint } from '../kernel/sagas/checkpoint.ts';
import { urlsOfHosts } from '../kernel/several-hosts.ts';
import { type BatchMeter, createBatchMeter } from '../ledger/batcher.ts';
import { createLedger, postingLimits } from '../ledger/ledger.ts';
import { openMonths } from '../ledger/months.ts';
import { createCoinbaseOnRamp } from '../payments/funding/adapters/coinbase/coinbase-on-ramp.ts';
import { coinbase } from '../payments/funding/adapters/coinbase/feature.ts';
import { moonpay } from '../payments/funding/adapters/moonpay/feature.ts';
import { createMoonPayOnRamp } from '../payments/funding/adapters/moonpay/moonpay-on-ramp.ts';
import type { OnRamp } from '../payments/funding/on-ramp.ts';
import { createUniswapMarket } from '../payments/swaps/adapters/uniswap/uniswap-market.ts';
import { withdrawals } from '../payments/withdrawals/feature.ts';
import { merchantPlatforms } from '../shopping/adapters/platforms.ts';
import { createUcpCheckouts } from '../shopping/adapters/ucp/checkout/shop-checkouts.ts';
import { createAgentKey } from '../shopping/search/agent.ts';
import { openShopping } from '../shopping/search/open-shopping.ts';
import { openCustody } from './custody.ts';
import { openStore, openStoreDatabase, openStoreSecrets, prepareDatabase } from './database.ts';
import { explainForeignSchema } from './explain-foreign-schema.ts';
import { features as listed } from './features.ts';
import { eventsOf, hooksOf, type ListedFeature, sagasOf, settingsOf } from './listed-feature.ts';
import type { Parts } from './parts.ts';
import { loadSandbox } from './sandbox.ts';
import { sandbox as sandboxFeature } from './sandbox-feature.ts';
import type { OpenSandbox } from './sandbox-port.ts';
import type { ServiceSettings } from './settings.ts';

/** What a process measures of itself. Parts that open later add theirs. */
interface Meters {
  readonly requests: RequestMeter;
  readonly batches: BatchMeter;
  readonly pools: Map<string, CountedPool>;
  readonly more: MetricSource[];
  /** The ports of /metrics, which outgoing requests must not reach. */
  readonly ports: number[];
}

/** Undefined when metrics are off; then nothing is measured. */
function openMeters(config: ServiceSettings): Meters | undefined {
  if (settingsOf(config, metrics) === undefined) return undefined;
  return { requests: createRequestMeter(), batches: createBatchMeter(), pools: new Map(), more: [], ports: [] };
}

export interface Foundation extends Parts {
  readonly features: readonly ListedFeature[];
  readonly config: ServiceSettings;
  readonly say: (line: string) => void;
  readonly url: string;
  /** Sets the public URL from the actual port, unless the operator has configured one. */
  readonly listensOn: (port: number) => void;
  /** Run in reverse order when the service stops. */
  readonly closers: (() => Promise<unknown>)[];
  /** Undefined when metrics are off. */
  readonly meters: Meters | undefined;
}

export interface FoundationOptions {
  readonly config: ServiceSettings;
  readonly logger: Logger;
  /** Progress for the person at the terminal. */
  readonly say: (line: string) => void;
  /** Whether a sandbox PostgreSQL that already runs in this folder may be shared. */
  readonly mayJoin: boolean;
  /** Called between the steps of sagas; a test ends the process there. */
  readonly checkpoint?: Checkpoint;
  /** Tests use shorter timeouts for Circle. No setting can do that. */
  readonly circleLimits?: Partial<CallLimits>;
  /** All features, unless a test passes its own list. */
  readonly features?: readonly ListedFeature[];
  readonly closers: (() => Promise<unknown>)[];
}

/** Opens the shared parts in order. Every opened part is in `closers`, even if a later one fails. */
export async function openFoundation(options: FoundationOptions): Promise<Foundation> {
  const { config, logger, say, mayJoin, closers, checkpoint = noCheckpoint, circleLimits } = options;
  const { features = listed } = options;
  const events = eventsOf(features);
  const store = await openStore({ config, logger, say, mayJoin });
  closers.push(() => store.close());
  say('Preparing the database …');
  await claimDatabase(store.url, config.mode);
  await prepareDatabase(store.url, { features, logger, patience: { ...usualPatience, say } }).catch(
    (error: unknown) => {
      throw explainForeignSchema(error, config);
    },
  );
  const db = openStoreDatabase(store, config, logger);
  closers.push(() => db.close());
  await warnOperator(db, config, logger);
  // Before the first posting, whichever role this process has.
  await openMonths(db, logger);
  const { secrets, close: letSecretGo } = await openStoreSecrets({ config, db, url: store.url, logger }, features);
  closers.push(letSecretGo);

  // The ledger has its own connections, so that a slow query cannot delay postings.
  const ledgerDb = openDatabase({
    url: store.url,
    poolSize: 2,
    logger,
    applicationName: 'paywright-batches',
    limits: postingLimits,
  });
  closers.push(() => ledgerDb.close());
  const meters = openMeters(config);
  meters?.pools.set('requests', db.pool).set('ledger', ledgerDb.pool);
  const eventNotice = createNotice(db, 'events');
  closers.push(() => eventNotice.stop());
  const decisionNotice = createNotice(db, 'decisions');
  closers.push(() => decisionNotice.stop());
  const ledger = createLedger({
    db: ledgerDb,
    logger,
    onBatch: meters?.batches.count,
    onEvents: eventNotice.tell,
    onDecisions: decisionNotice.tell,
  });
  closers.push(() => ledger.stop());

  let publicUrl = config.publicUrl ?? '';
  const sandbox =
    config.mode === 'sandbox'
      ? await (await loadSandbox(config)).openSandbox({
          dataDir: config.dataDir,
          databaseUrl: config.databaseUrl,
          settings: settingsOf(config, sandboxFeature),
          db,
          ledger,
          secrets,
          logger,
          say,
          publicUrl: () => publicUrl,
          closers,
        })
      : undefined;
  const innerPorts = portsOf([
    ...urlsOfHosts(store.url),
    ...(config.databaseReadUrl === undefined ? [] : urlsOfHosts(config.databaseReadUrl)),
    ...(config.redisUrl === undefined ? [] : urlsOfHosts(config.redisUrl)),
    ...[...(sandbox?.networks.values() ?? [])].flatMap(({ urls }) => urls),
  ]);
  const outgoing = createOutgoing({
    allowPrivateHosts: config.allowPrivateHosts,
    names: sandbox?.names ?? new Map(),
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
    localChains: sandbox?.networks,
  });
  const shops = openShopping({
    outgoing,
    parser,
    clock: systemClock,
    platforms: merchantPlatforms,
    publicUrl: () => publicUrl,
  });
  const agentKey = createAgentKey(db, secrets);
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
    onRamps: openOnRamps(config, sandbox),
    sandbox,
    events,
    sagas: sagasOf(features),
    gatherHook: hooksOf(features),
    onTransaction: wakeSagaOf,
    publicUrl: () => publicUrl,
    listensOn(port) {
      publicUrl ||= `http://127.0.0.1:${port}`;
    },
    closers,
    meters,
  };
}

function openGasCosts(config: ServiceSettings, parts: Pick<GasCostsParts, 'networks' | 'market'>): GasCosts {
  if (config.mode === 'sandbox' && !settingsOf(config, sandboxFeature).chargeGas) return freeGas;
  const { untradedInUsdc } = settingsOf(config, treasury);
  return createGasCosts({ ...parts, untradedInUsdc, clock: monotonicClock });
}

/** The on-ramps of funding links: the sandbox's card company, and those that the operator has configured. */
function openOnRamps(config: ServiceSettings, sandbox: OpenSandbox | undefined): readonly OnRamp[] {
  const clock = systemClock;
  const [toCoinbase, toMoonPay] = [settingsOf(config, coinbase), settingsOf(config, moonpay)];
  return [
    ...(sandbox?.onRamp === undefined ? [] : [sandbox.onRamp]),
    ...(toCoinbase === undefined ? [] : [createCoinbaseOnRamp({ ...toCoinbase, clock })]),
    ...(toMoonPay === undefined ? [] : [createMoonPayOnRamp({ ...toMoonPay, clock })]),
  ];
}

/** Logs every setting that the operator should look at, although the service starts with it. */
async function warnOperator(db: Queryable, { mode, warnings }: ServiceSettings, logger: Logger): Promise<void> {
  for (const sentence of warnings) logger.warn(sentence);
  if (mode !== 'live') return;
  const { rows } = await db.query<{ isSuperuser: boolean }>(
    'SELECT rolsuper AS is_superuser FROM pg_roles WHERE rolname = current_user',
  );
  if (rows[0]?.isSuperuser)
    logger.warn(
      'DATABASE_URL names a superuser: an attacker who takes over the service could do anything to the database',
    );
}
