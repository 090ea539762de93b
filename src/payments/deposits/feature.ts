import { underWay } from '../../accounts/closing/on-account-closing.ts';
import type { Networks, SilentChains } from '../../chains/network.ts';
import type { SagaParts } from '../../custody/steps/chain-step.ts';
import { coinSweepHandler } from '../../custody/sweeps/advance-coin-sweep.ts';
import { sweepHandler } from '../../custody/sweeps/advance-sweep.ts';
import { coinSweepSaga } from '../../custody/sweeps/coin-sweep-saga.ts';
import { startSweeps } from '../../custody/sweeps/sweep.ts';
import { sweepSaga } from '../../custody/sweeps/sweep-saga.ts';
import type { GasCosts } from '../../custody/treasury/gas-costs.ts';
import { createAddressBook } from '../../custody/watch/address-book.ts';
import { hostsOf } from '../../custody/watch/compare-nodes.ts';
import { depositsCredited } from '../../custody/watch/on-deposits.ts';
import { chainMetrics } from '../../custody/watch/silent-chains.ts';
import type { Database, ReadDatabase } from '../../kernel/db/database.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { GatherHook } from '../../kernel/hook.ts';
import type { Wakes } from '../../kernel/jobs/wakes.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import { defineSettings, type Mode, wholeNumber } from '../../kernel/settings.ts';
import { needsPostings } from '../../ledger/archive/archive-month.ts';
import { assets, holdings } from '../../money/catalogue.ts';
import { listed } from '../../money/in-words.ts';
import type { Market } from '../../money/market.ts';
import { startCheckingHeldDeposits } from './check-held-deposits.ts';
import { startCheckingWallets } from './check-wallets.ts';
import { addDepositCommands, type DepositParts } from './commands.ts';
import { depositsUnderWay } from './held-deposit.ts';
import { type OneNodeLimit, oneNodeLimit } from './one-node-limit.ts';
import { depositRoutes } from './routes.ts';
import { openReversals } from './settle-reversal.ts';
import { startWatchers } from './watch-chains.ts';

interface DepositSettings {
  /** Undefined: a single node is believed whatever it says. */
  readonly oneNodeLimit: OneNodeLimit | undefined;
}

interface DepositWork extends SagaParts {
  readonly mode: Mode;
  readonly checkpoint: Checkpoint;
  readonly market: Market;
  readonly gasCosts: GasCosts;
  readonly gatherHook: GatherHook;
  readonly wakes: Wakes;
}

/** Below every limit that can be set. The default depends on the mode. */
const notGiven = -1;

/** In live mode: a higher limit would believe a single node whatever it says. */
const mostOnOneNode = 100_000;

const stable = holdings.filter((asset) => assets[asset].worthAtMost === 1n);
const others = holdings
  .filter((asset) => !stable.includes(asset))
  .map((asset) => `${parseFloat((1_000 / Number(assets[asset].worthAtMost)).toPrecision(3))} ${asset}`);

export const deposits: Feature<{
  settings: DepositSettings;
  serving: { readonly db: Database; readonly readDb: ReadDatabase; readonly silentChains: SilentChains };
  metrics: { readonly db: Database; readonly networks: Networks };
  working: DepositWork;
  commands: DepositParts;
}> = {
  name: 'deposits',
  hooks: [underWay.on(depositsUnderWay), needsPostings.on(openReversals)],
  settings: defineSettings({
    variables: { DEPOSIT_ONE_NODE_LIMIT: wholeNumber(0, 1_000_000_000, notGiven) },
    docs: {
      room: 'Deposits',
      rows: {
        DEPOSIT_ONE_NODE_LIMIT: {
          usual: 'live: `1000`, sandbox: none',
          does: `The largest deposit, in ${listed(stable, 'or')}, that is credited on the word of a single node; ${listed(others, 'or')} count as 1000. A larger deposit, or more than twice as much in an hour, needs two providers in \`RPC_URLS_…\` and on rollups a finalized block. Otherwise it is held for \`paywright deposits\`.`,
          change: 'To trust a node with more or less. Live mode takes at most 100000.',
        },
      },
    },
    harmless: ['DEPOSIT_ONE_NODE_LIMIT'],
    read({ DEPOSIT_ONE_NODE_LIMIT: given }, mode) {
      if (given !== notGiven) return { oneNodeLimit: oneNodeLimit(given) };
      return { oneNodeLimit: mode === 'live' ? oneNodeLimit(1_000) : undefined };
    },
    refuseLive: ({ DEPOSIT_ONE_NODE_LIMIT: given }) =>
      given > mostOnOneNode
        ? [`DEPOSIT_ONE_NODE_LIMIT is unsafe: a single node could invent that much; set at most ${mostOnOneNode}`]
        : [],
  }),
  commands: (program, tools) =>
    addDepositCommands(program, { ...tools, onDeposits: tools.gatherHook(depositsCredited) }),
  events: [{ name: 'deposit.received' }],
  sagas: [
    { saga: sweepSaga, handler: (parts) => sweepHandler(parts) },
    { saga: coinSweepSaga, handler: (parts) => coinSweepHandler(parts) },
  ],
  routes: ({ readDb }) => depositRoutes(readDb),
  metrics: ({ db, networks }) => [chainMetrics(db, networks)],
  checks: ({ silentChains }) => ({ chains: silentChains }),
  loops(
    { mode, db, ledger, networks, provider, market, gasCosts, logger, checkpoint, gatherHook, wakes },
    { oneNodeLimit: limit },
  ) {
    const parts = { db, ledger, networks, logger, checkpoint, wakes };
    const onDeposits = gatherHook(depositsCredited);
    for (const { id: chain, nodes } of networks.values()) {
      if (limit !== undefined && hostsOf(nodes).size < 2)
        logger.warn({ chain }, 'only one RPC host is configured for this chain: large deposits wait for the operator');
    }
    const watching = { ...parts, book: createAddressBook(db), onDeposits, oneNodeLimit: limit };
    // A killed process leaves its lease behind. The short sandbox lease saves the next process a wait.
    const watchers = startWatchers({ ...watching, ...(mode === 'sandbox' && { leaseMs: 3_000 }) });
    const mayAct = watchers.holds;
    const looks = startCheckingHeldDeposits({ ...parts, onDeposits }, networks, mayAct);
    const checks = startCheckingWallets(watching, networks, mayAct);
    const sweeps = startSweeps({
      ...parts,
      provider,
      mayAct,
      // Gas is free in the sandbox, so sweeps need not wait to be worth it.
      ...(mode === 'sandbox' && { threshold: 1n, gatherMs: 0, pollMs: 1_000 }),
      ...(mode === 'live' && { worth: { market, gasCosts, timesGas: 10n } }),
    });
    return [watchers, sweeps, ...looks, ...checks];
  },
};
