import { monotonicClock } from '../kernel/clock.ts';
import { refuseTakenPort } from '../kernel/http/listen.ts';
import { jobMetrics } from '../kernel/jobs/job-metrics.ts';
import { createCollector } from '../kernel/metrics/collect.ts';
import { metrics } from '../kernel/metrics/feature.ts';
import { startOperatorServer } from '../kernel/metrics/operator-server.ts';
import { poolMetrics } from '../kernel/metrics/pool-metrics.ts';
import { processMetrics } from '../kernel/metrics/process-metrics.ts';
import type { Config } from './config.ts';
import type { Foundation } from './foundation.ts';
import { gather, settingsOf } from './listed-feature.ts';

/** Fails early when the operator's port is unavailable. */
export async function refuseTakenOperatorPort(config: Config): Promise<void> {
  const address = settingsOf(config, metrics);
  if (address === undefined) return;
  await refuseTakenPort({ ...address, names: { host: 'OPERATOR_HOST', port: 'OPERATOR_PORT' } });
}

/** Serves /metrics, in every role. Returns the port, or undefined when metrics are off. */
export async function startOperatorPort(foundation: Foundation): Promise<number | undefined> {
  const { config, features, db, logger, closers, meters } = foundation;
  const address = settingsOf(config, metrics);
  if (address === undefined || meters === undefined) return undefined;
  const ownProcess = processMetrics();
  closers.push(async () => ownProcess.stop());
  const collector = createCollector({
    sources: [
      ownProcess,
      meters.requests.source,
      meters.batches.source,
      poolMetrics(meters.pools),
      jobMetrics(db),
      ...meters.more,
      ...gather(features, config, (feature, settings) => feature.metrics?.(foundation, settings)),
    ],
    clock: monotonicClock,
    logger,
  });
  closers.push(async () => collector.stop());
  const server = await startOperatorServer(address, () => collector.scrape());
  closers.push(() => server.stop());
  meters.ports.push(server.port);
  return server.port;
}
