import { systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { startSweeps } from './deposits/sweep.ts';
import { startWatchers } from './deposits/watch-chains.ts';
import type { Foundation } from './foundation.ts';
import { expireIdempotencyKeys } from './http/expire-idempotency-keys.ts';
import { startWorker, type Worker } from './jobs/worker.ts';
import type { Notifier } from './messages/notifier.ts';
import { sendMessageHandler } from './messages/outbox.ts';
import { forgetNotifications } from './providers/circle/notifications.ts';
import { createDenyList } from './providers/deny-list/deny-list.ts';
import { createSmtpMailer } from './providers/smtp/smtp-mailer.ts';
import { createTwilioSms } from './providers/twilio/twilio-sms.ts';
import { snapshotSchedule } from './reserves/jobs.ts';
import { fillGas, fillGasSchedule } from './sandbox/fill-gas.ts';
import { createConsoleNotifier } from './sandbox/notifier.ts';
import { moveRetiredSchedule } from './treasury/move-retired.ts';
import { watchGasSchedule } from './treasury/watch-gas.ts';
import { startDeliveries } from './webhooks/deliver.ts';
import { forgetDeliveriesSchedule } from './webhooks/forget-deliveries.ts';
import { advanceWithdrawalHandler } from './withdrawals/advance-withdrawal.ts';
import { resumeAllWithdrawals, resumeWithdrawalsSchedule } from './withdrawals/jobs.ts';

/** Everything that happens without a request: jobs, and the watch over the chains. */
export async function startWorking(foundation: Foundation): Promise<Worker> {
  const {
    config,
    logger,
    say,
    url,
    db,
    secrets,
    ledger,
    custody,
    reserves,
    outgoing,
    localChains,
    checkpoint,
    closers,
  } = foundation;
  const { networks, provider } = custody;
  const sandbox = localChains && { db, ledger, faucet: localChains.faucet };
  if (sandbox !== undefined) await fillGas(sandbox);

  // A process that was killed leaves its lease behind; in the sandbox the next one should not wait for it.
  const lease = sandbox === undefined ? {} : { leaseMs: 3_000 };
  const watchers = startWatchers({ db, ledger, networks, logger, checkpoint, ...lease });
  closers.push(() => watchers.stop());
  const sweeps = startSweeps({
    db,
    ledger,
    networks,
    provider,
    logger,
    checkpoint,
    mayAct: (chain) => watchers.holds(chain),
    // Gas is free in the sandbox, and nobody wants to wait there.
    ...(sandbox !== undefined && { threshold: 1n, gatherMs: 0, pollMs: 1_000 }),
  });
  closers.push(() => sweeps.stop());

  const deliveries = startDeliveries({
    db,
    secrets,
    outgoing,
    logger,
    retrySeconds: config.webhookRetrySeconds,
    checkpoint,
  });
  closers.push(() => deliveries.stop());

  await resumeAllWithdrawals(db);
  const worker = await startWorker({
    db,
    url,
    logger,
    handlers: [
      sendMessageHandler({ db, secrets, notifier: chooseNotifier(config, say), keepText: config.mode === 'sandbox' }),
      advanceWithdrawalHandler({
        db,
        ledger,
        networks,
        provider,
        screening: createDenyList(config.denyListFile),
        logger,
        checkpoint,
      }),
    ],
    schedules: [
      expireIdempotencyKeys(db),
      resumeWithdrawalsSchedule(db),
      moveRetiredSchedule({ db, ledger, networks, provider, logger }),
      watchGasSchedule({ db, networks, logger }),
      snapshotSchedule(reserves),
      forgetDeliveriesSchedule(db, systemClock),
      ...(custody.circle === undefined ? [] : [custody.circle.pool.schedule, forgetNotifications(db, systemClock)]),
      ...(sandbox === undefined ? [] : [fillGasSchedule(sandbox)]),
    ],
  });
  closers.push(() => worker.stop());
  return worker;
}

function chooseNotifier({ mode, mail, sms }: Config, say: (line: string) => void): Notifier {
  if (mode === 'sandbox') return createConsoleNotifier(say);
  if (mail === undefined || sms === undefined) throw new Error('live mode has no way to send messages');
  const mailer = createSmtpMailer(mail);
  const texter = createTwilioSms(sms);
  return { send: (message) => (message.channel === 'email' ? mailer : texter).send(message) };
}
