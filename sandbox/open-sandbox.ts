import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { OpenSandbox, OpenSandboxOptions } from '../src/app/sandbox-port.ts';
import { systemClock } from '../src/kernel/clock.ts';
import type { Database } from '../src/kernel/db/database.ts';
import { chainIds } from '../src/money/catalogue.ts';
import { numberInWords } from '../src/money/in-words.ts';
import { createChainTables } from './chains/chain-tables.ts';
import { createSecretTable } from './secret.ts';

interface DataPlace {
  readonly dataDir: string;
  /** Set if the operator runs PostgreSQL. */
  readonly databaseUrl: string | undefined;
}

/** A shop belongs to the ledger that pays it, so each database in a shared folder has its own shop. */
export function shopsDataDir({ dataDir, databaseUrl }: DataPlace): string {
  if (databaseUrl === undefined) return dataDir;
  const { host, pathname } = new URL(databaseUrl);
  return join(dataDir, 'databases', createHash('sha256').update(`${host}${pathname}`).digest('hex').slice(0, 16));
}

// The only file of the sandbox that the service imports. Slow modules are loaded on use, so that a command which needs only the
// database does not load the chains.
export { createConsoleNotifier } from './notifier.ts';
export { openSandboxStore } from './open-store.ts';
export { deleteSandboxState, findSandboxState, refuseWhileRunning } from './reset.ts';
export { sandboxSecret } from './secret.ts';

/** Opens the stand-ins for the outside world: chains, shops, an x402 seller and a card company. */
export async function openSandbox(options: OpenSandboxOptions): Promise<OpenSandbox> {
  const { settings, db, ledger, secrets, logger, say, publicUrl, closers } = options;
  say(`Starting ${numberInWords(chainIds.length)} local chains …`);
  const { startLocalChains } = await import('./chains/local-chains.ts');
  const chains = await startLocalChains({ db, logger });
  closers.push(() => chains.stop());
  const { openShops } = await import('./shop/open-shops.ts');
  const shops = await openShops({ logger, publicUrl, ways: settings.ways, dataDir: shopsDataDir(options) });
  closers.push(() => shops.stop());
  const { openSeller } = await import('./seller/open-seller.ts');
  const seller = await openSeller(chains, logger);
  closers.push(() => seller.stop());

  const { createSandboxOnRamp } = await import('./on-ramp/sandbox-on-ramp.ts');
  const { sandboxRoutes } = await import('./routes.ts');
  const { fillGas, fillGasSchedule } = await import('./fill-gas.ts');
  const { fillSandboxFloat } = await import('./fund-house-wallets.ts');
  const { faucet } = chains;
  return {
    networks: chains.settings,
    attestationUrl: chains.attestationUrl,
    names: new Map([...shops.names, ...seller.names]),
    linkFor: (url) => shops.linkFor(url),
    onRamp: settings.onRamp ? createSandboxOnRamp({ db, secrets, faucet, clock: systemClock, publicUrl }) : undefined,
    routes: () => sandboxRoutes({ db, ledger, secrets, chains, shops, seller }),
    async onStart() {
      await fillGas({ db, ledger, faucet });
      await fillSandboxFloat({ db, ledger, logger, chains });
    },
    schedules: () => [fillGasSchedule({ db, ledger, faucet })],
  };
}

/** The chains of a running sandbox, for a command beside it. */
export async function connectNetworks(db: Database): Promise<OpenSandbox['networks']> {
  const { connectLocalChains } = await import('./chains/local-chains.ts');
  return (await connectLocalChains({ db })).settings;
}

/** Creates the sandbox's tables ahead, for a role that may not create any. */
export async function createSandboxTables(db: Database): Promise<void> {
  await createChainTables(db);
  await createSecretTable(db);
}
