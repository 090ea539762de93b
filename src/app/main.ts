import { smtp } from '../accounts/messages/adapters/smtp/feature.ts';
import { createTwilioSms, twilio } from '../accounts/messages/adapters/twilio/feature.ts';
import type { Notifier } from '../accounts/messages/notifier.ts';
import type { PasswordCost } from '../accounts/passwords/passwords.ts';
import { monotonicClock } from '../kernel/clock.ts';
import { refuseTakenPort } from '../kernel/http/listen.ts';
import { jobMetrics } from '../kernel/jobs/job-metrics.ts';
import { startWakes, type Wakes } from '../kernel/jobs/wakes.ts';
import { startWorker, type Worker } from '../kernel/jobs/worker.ts';
import { createCollector } from '../kernel/metrics/collect.ts';
import { metrics } from '../kernel/metrics/feature.ts';
import { startOperatorServer } from '../kernel/metrics/operator-server.ts';
import { poolMetrics, processMetrics } from '../kernel/metrics/process-metrics.ts';
import { refuseSameNames } from '../kernel/refusal.ts';
import { createSagaRunner } from '../kernel/sagas/run-saga.ts';
import { chainIds } from '../money/catalogue.ts';
import { createIris } from '../payments/bridge/adapters/iris/iris.ts';
import type { Attestations } from '../payments/bridge/attestations.ts';
import { turnsPerSource } from '../payments/bridge/await-attestation.ts';
import { type Foundation, type FoundationOptions, openFoundation } from './foundation.ts';
import { gather, ownSettings, settingsOf } from './listed-feature.ts';
import type { WorkingParts } from './parts.ts';
import { loadSandbox } from './sandbox.ts';
import { startServing } from './serving.ts';
import type { ServiceSettings } from './settings.ts';

/**
 * Sagas mostly wait for their chain and for commits, so more of them run at once than of other jobs. Shops are many,
 * and each may be slow. The attestation lane keeps slots free even when every source chain of a bridge is silent.
 */
export const slots: Readonly<Record<string, number>> = {
  ...Object.fromEntries(chainIds.map((chain) => [chain, 8])),
  attestation: chainIds.length * turnsPerSource + 4,
  shops: 16,
};

/** Starts everything that runs without a request: jobs, and loops such as the chain watcher. */
async function startWorking(foundation: Foundation, wakes: Wakes): Promise<Worker> {
  const { features, config, logger, url, db, closers } = foundation;
  const parts: Foundation & WorkingParts = {
    ...foundation,
    wakes,
    notifier: await chooseNotifier(foundation),
    attestations: chooseAttestations(foundation),
  };
  for (const feature of features) await feature.onStart?.(parts, ownSettings(config, feature));
  const loops = gather(features, config, (feature, settings) => feature.loops?.(parts, settings));
  closers.push(() => Promise.all(loops.map((loop) => loop.stop())));
  const sagas = createSagaRunner({
    db,
    logger,
    handlers: gather(features, config, (feature, settings) =>
      feature.sagas?.map(({ handler }) => handler(parts, settings)),
    ),
  });
  const handlers = [
    ...gather(features, config, (feature, settings) => feature.jobs?.(parts, settings)),
    ...sagas.jobs(new Set([...chainIds, ...foundation.sagas.flatMap(({ ownLanes = [] }) => ownLanes)])),
  ];
  const schedules = gather(features, config, (feature, settings) => feature.schedules?.(parts, settings));
  const jobs = [...handlers, ...schedules.map(({ handler }) => handler)].map(({ job }) => job);
  refuseSameNames('job', jobs);
  const worker = await startWorker({ db, url, logger, handlers, schedules, slots });
  closers.push(() => worker.stop());
  foundation.meters?.pools.set('jobs', worker.pool);
  return worker;
}

function chooseAttestations({ db, sandbox }: Foundation): Attestations {
  return createIris({ db, url: sandbox?.attestationUrl ?? 'https://iris-api.circle.com' });
}

async function chooseNotifier({ mode, config, say }: Foundation): Promise<Notifier> {
  if (mode === 'sandbox') return (await loadSandbox({ mode })).createConsoleNotifier(say);
  const mail = settingsOf(config, smtp);
  const sms = settingsOf(config, twilio);
  if (mail === undefined || sms === undefined) throw new Error('live mode needs SMTP and Twilio settings');
  // A sandbox sends no mail and does not load the mailer.
  const { createSmtpMailer } = await import('../accounts/messages/adapters/smtp/smtp-mailer.ts');
  const mailer = createSmtpMailer(mail);
  const texter = createTwilioSms(sms);
  return { send: (message) => (message.channel === 'email' ? mailer : texter).send(message) };
}

export interface Roles {
  readonly serve: boolean;
  readonly work: boolean;
}

export interface RunOptions extends Omit<FoundationOptions, 'mayJoin' | 'closers'> {
  readonly roles: Roles;
  /** Tests hash passwords at the lowest cost. No setting can do that. */
  readonly passwordCost?: PasswordCost;
}

export interface RunningPaywright {
  /** Undefined for a process that only runs jobs. */
  readonly publicUrl: string | undefined;
  /** The port of /metrics; undefined when metrics are off. */
  readonly operatorPort: number | undefined;
  /** Finishes open work, then closes everything in reverse order. */
  stop(): Promise<void>;
}

/** The composition root: configuration → adapters → features → HTTP and jobs. Only this folder picks implementations. */
export async function runPaywright(options: RunOptions): Promise<RunningPaywright> {
  const { config, logger, roles } = options;
  const closers: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const close of closers.splice(0).reverse()) {
      await close().catch((err: unknown) => logger.error({ err }, 'a part could not be closed'));
    }
  };

  try {
    if (roles.serve) await refuseTakenPort(config);
    await refuseTakenOperatorPort(config);
    const foundation = await openFoundation({ ...options, mayJoin: !roles.serve, closers });
    const wakes = await startWakes(foundation);
    closers.push(() => wakes.stop());
    const work = roles.work ? await startWorking(foundation, wakes) : undefined;
    const publicUrl = roles.serve
      ? await startServing(foundation, { worker: work, wakes, passwordCost: options.passwordCost })
      : undefined;
    return { publicUrl, operatorPort: await startOperatorPort(foundation), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Fails early when the operator's port is unavailable. */
async function refuseTakenOperatorPort(config: ServiceSettings): Promise<void> {
  const address = settingsOf(config, metrics);
  if (address === undefined) return;
  await refuseTakenPort({ ...address, names: { host: 'OPERATOR_HOST', port: 'OPERATOR_PORT' } });
}

/** Serves /metrics, in every role. Returns the port, or undefined when metrics are off. */
async function startOperatorPort(foundation: Foundation): Promise<number | undefined> {
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
