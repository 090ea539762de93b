import type { Feature } from '../feature.ts';
import { coinSweepHandler } from './advance-coin-sweep.ts';
import { sweepHandler } from './advance-sweep.ts';
import { chainMetrics } from './chain-metrics.ts';
import { coinSweepSaga } from './coin-sweep-saga.ts';
import { depositRoutes } from './routes.ts';
import { startSweeps } from './sweep.ts';
import { sweepSaga } from './sweep-saga.ts';
import { startWatchers } from './watch-chains.ts';

export const deposits: Feature = {
  name: 'deposits',
  events: [{ name: 'deposit.received' }],
  sagas: [
    {
      saga: sweepSaga,
      handler: ({ db, ledger, networks, provider, logger, checkpoint }) =>
        sweepHandler({ db, ledger, networks, provider, logger, checkpoint }),
    },
    {
      saga: coinSweepSaga,
      handler: ({ db, ledger, networks, provider, logger, checkpoint }) =>
        coinSweepHandler({ db, ledger, networks, provider, logger, checkpoint }),
    },
  ],
  routes: ({ db }) => depositRoutes(db),
  metrics: ({ db, networks }) => [chainMetrics(db, networks)],
  checks: ({ silentChains }) => ({ chains: silentChains }),
  loops({ mode, db, ledger, networks, provider, market, logger, checkpoint, onDeposits }) {
    const parts = { db, ledger, networks, logger, checkpoint };
    // A process that was killed leaves its lease behind; in the sandbox the next one should not wait for it.
    const watchers = startWatchers({ ...parts, onDeposits, ...(mode === 'sandbox' && { leaseMs: 3_000 }) });
    const sweeps = startSweeps({
      ...parts,
      provider,
      mayAct: (chain) => watchers.holds(chain),
      // Gas is free in the sandbox, and nobody wants to wait there.
      ...(mode === 'sandbox' && { threshold: 1n, gatherMs: 0, pollMs: 1_000 }),
      ...(mode === 'live' && { worth: { market, timesGas: 10n } }),
    });
    return [watchers, sweeps];
  },
};
