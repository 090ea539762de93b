import { type Checkpoint, noCheckpoint } from './checkpoint.ts';
import { systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { type Custody, openCustody } from './custody.ts';
import { claimDatabase } from './db/claim-database.ts';
import { type Database, openDatabase } from './db/database.ts';
import { migrate } from './db/migrate.ts';
import { createLedger, type Ledger, postingLimits } from './ledger/ledger.ts';
import type { Logger } from './logger.ts';
import { portsOf } from './outgoing/inner-ports.ts';
import { createOutgoing, type Outgoing } from './outgoing/outgoing.ts';
import { createReserves, type Reserves } from './reserves/reserves.ts';
import type { LocalChains } from './sandbox/chains/local-chains.ts';
import type { Secrets } from './secrets.ts';
import { openSecrets, openStore, openStoreDatabase } from './store.ts';

/** What every role stands on. */
export interface Foundation {
  readonly config: Config;
  readonly logger: Logger;
  readonly say: (line: string) => void;
  readonly checkpoint: Checkpoint;
  readonly url: string;
  readonly db: Database;
  readonly secrets: Secrets;
  readonly ledger: Ledger;
  readonly custody: Custody;
  readonly reserves: Reserves;
  /** For every request to a URL that somebody else has chosen. */
  readonly outgoing: Outgoing;
  /** Only in the sandbox. */
  readonly localChains: LocalChains | undefined;
  /** Run in reverse when the service stops. */
  readonly closers: (() => Promise<unknown>)[];
}

export interface FoundationOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly say: (line: string) => void;
  /** Whether a server that runs in the same folder already may be joined. */
  readonly mayJoin: boolean;
  readonly checkpoint?: Checkpoint;
  readonly closers: (() => Promise<unknown>)[];
}

/** Opens everything that both roles need, in order. What was opened is in `closers`, also when a later part fails. */
export async function layFoundation(options: FoundationOptions): Promise<Foundation> {
  const { config, logger, say, mayJoin, closers, checkpoint = noCheckpoint } = options;
  const store = await openStore({ config, logger, say, mayJoin });
  closers.push(() => store.close());
  say('Preparing the database …');
  await claimDatabase(store.url, config.mode);
  await migrate(store.url);
  const db = openStoreDatabase(store, config, logger);
  closers.push(() => db.close());
  const secrets = await openSecrets(config, db);

  // Connections of its own, so that no slow query keeps postings waiting.
  const ledgerDb = openDatabase({
    url: store.url,
    poolSize: 2,
    logger,
    applicationName: 'paywright-ledger',
    limits: postingLimits,
  });
  closers.push(() => ledgerDb.close());
  const ledger = createLedger({ db: ledgerDb, logger });
  closers.push(() => ledger.stop());

  const localChains = config.mode === 'sandbox' ? await startSandboxChains(db, logger, say) : undefined;
  if (localChains !== undefined) closers.push(() => localChains.stop());
  const innerPorts = portsOf([
    store.url,
    ...(config.redisUrl === undefined ? [] : [config.redisUrl]),
    ...[...(localChains?.settings.values() ?? [])].flatMap(({ urls }) => urls),
  ]);
  const outgoing = createOutgoing({
    allowPrivateHosts: config.allowPrivateHosts,
    forbiddenPorts: () => innerPorts,
  });
  closers.push(() => outgoing.close());
  const custody = await openCustody({ config, db, secrets, logger, checkpoint, localChains: localChains?.settings });
  const reserves = createReserves({
    db,
    networks: custody.networks,
    logger,
    clock: systemClock,
    // Whoever tries it out wants to see what he has just done.
    ...(localChains !== undefined && { snapshotMinAgeMs: 2_000, reportMaxAgeMs: 500 }),
  });
  return {
    config,
    logger,
    say,
    checkpoint,
    url: store.url,
    db,
    secrets,
    ledger,
    custody,
    reserves,
    outgoing,
    localChains,
    closers,
  };
}

/** Loaded only now: what the sandbox is made of need not be installed for live mode. */
async function startSandboxChains(db: Database, logger: Logger, say: (line: string) => void): Promise<LocalChains> {
  say('Starting six local chains …');
  const { startLocalChains } = await import('./sandbox/chains/local-chains.ts');
  return startLocalChains({ db, logger });
}
