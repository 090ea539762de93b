import type { OpenSandbox, OpenSandboxOptions } from '../src/app/sandbox-port.ts';
import { systemClock } from '../src/kernel/clock.ts';
import type { Database } from '../src/kernel/db/database.ts';
import { chainIds } from '../src/money/catalogue.ts';
import { counted } from '../src/money/in-words.ts';
import { createChainTables } from './chains/chain-tables.ts';
import { createSecretTable } from './secret.ts';
import { shopsDataDir } from './shops-data-dir.ts';

// All that the service uses of the sandbox comes from this file. What takes long to load is loaded when it is used: a
// command that only needs the database does not wait for the chains.
export { createConsoleNotifier } from './notifier.ts';
export { openSandboxStore } from './open-store.ts';
export { deleteSandboxState, findSandboxState, refuseWhileRunning } from './reset.ts';
export { sandboxSecret } from './secret.ts';

/** Opens everything that stands in for the outside world: chains, shops, a seller of calls and a card company. */
export async function openSandbox(options: OpenSandboxOptions): Promise<OpenSandbox> {
  const { settings, db, ledger, secrets, logger, say, publicUrl, closers } = options;
  say(`Starting ${counted(chainIds.length)} local chains …`);
  const { startLocalChains } = await import('./chains/local-chains.ts');
  const chains = await startLocalChains({ db, logger });
  closers.push(() => chains.stop());
  const { openShops } = await import('./shop/open-shops.ts');
  const shops = await openShops({ logger, publicUrl, ways: settings.ways, dataDir: shopsDataDir(options) });
  closers.push(() => shops.stop());
  const { openSeller } = await import('./seller/open-seller.ts');
  const seller = await openSeller({ chains, logger });
  closers.push(() => seller.stop());

  const { createSandboxOnRamp } = await import('./on-ramp/sandbox-on-ramp.ts');
  const { sandboxRoutes } = await import('./routes.ts');
  const { fillGas, fillGasSchedule } = await import('./fill-gas.ts');
  const { fillSandboxFloat } = await import('./fill-float.ts');
  const { faucet } = chains;
  return {
    networks: chains.settings,
    attestationUrl: chains.attestationUrl,
    names: new Map([...shops.names, ...seller.names]),
    linkFor: (url) => shops.linkFor(url),
    onRamp: settings.onRamp ? createSandboxOnRamp({ db, secrets, faucet, clock: systemClock, publicUrl }) : undefined,
    routes: () => sandboxRoutes({ db, secrets, chains, shops, seller }),
    async onStart() {
      await fillGas({ db, ledger, faucet });
      await fillSandboxFloat({ db, ledger, logger, chains });
    },
    schedules: () => [fillGasSchedule({ db, ledger, faucet })],
  };
}

/** How the chains of a sandbox that runs are reached, for a command beside it. */
export async function connectNetworks(db: Database): Promise<OpenSandbox['networks']> {
  const { connectLocalChains } = await import('./chains/local-chains.ts');
  return (await connectLocalChains({ db })).settings;
}

/** For a role that may create nothing: what a sandbox would otherwise make by itself. */
export async function createSandboxTables(db: Database): Promise<void> {
  await createChainTables(db);
  await createSecretTable(db);
}
