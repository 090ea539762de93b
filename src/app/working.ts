import { smtp } from '../accounts/messages/adapters/smtp/feature.ts';
import { twilio } from '../accounts/messages/adapters/twilio/feature.ts';
import { createTwilioSms } from '../accounts/messages/adapters/twilio/twilio-sms.ts';
import type { Notifier } from '../accounts/messages/notifier.ts';
import { startWorker, type Worker } from '../kernel/jobs/worker.ts';
import { refuseTwice } from '../kernel/refuse-twice.ts';
import { createSagaRunner } from '../kernel/sagas/run-saga.ts';
import { chainIds } from '../money/catalogue.ts';
import { createIris } from '../payments/bridge/adapters/iris/iris.ts';
import type { Attestations } from '../payments/bridge/attestations.ts';
import { turnsPerSource } from '../payments/bridge/await-attestation.ts';
import type { Foundation } from './foundation.ts';
import { gather, ownSettings, settingsOf } from './listed-feature.ts';
import type { WorkingParts } from './parts.ts';
import { loadSandbox } from './sandbox.ts';

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
export async function startWorking(foundation: Foundation): Promise<Worker> {
  const { features, config, logger, url, db, closers } = foundation;
  const parts: Foundation & WorkingParts = {
    ...foundation,
    notifier: await chooseNotifier(foundation),
    attestations: chooseAttestations(foundation),
  };
  for (const feature of features) await feature.onStart?.(parts, ownSettings(config, feature));
  for (const feature of features) {
    const loops = feature.loops?.(parts, ownSettings(config, feature)) ?? [];
    closers.push(...loops.map((loop) => () => loop.stop()));
  }
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
  refuseTwice(
    'job',
    [...handlers, ...schedules.map(({ handler }) => handler)].map(({ job }) => job.name),
  );
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
