import { startAccountChanges } from './accounts/account-changes.ts';
import { createKeyRing } from './accounts/key-ring.ts';
import { createPasswords } from './accounts/passwords.ts';
import { createRegister } from './accounts/register.ts';
import { accountRoutes } from './accounts/routes.ts';
import { createSignInThrottle } from './accounts/sign-in-throttle.ts';
import { createVerification } from './accounts/verification.ts';
import { monotonicClock, systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { claimDatabase } from './db/claim-database.ts';
import { type Database, openDatabase } from './db/database.ts';
import { migrate } from './db/migrate.ts';
import { expireIdempotencyKeys } from './http/expire-idempotency-keys.ts';
import { addHealth } from './http/health.ts';
import { createOnce } from './http/idempotency.ts';
import { closeServer, listen, refuseTakenPort } from './http/listen.ts';
import { describeRoutes } from './http/openapi-route.ts';
import { createServer } from './http/server.ts';
import { startWorker, type Worker } from './jobs/worker.ts';
import { createLedger } from './ledger/ledger.ts';
import type { Logger } from './logger.ts';
import type { Notifier } from './messages/notifier.ts';
import { sendMessageHandler } from './messages/outbox.ts';
import { createKeysProvider } from './providers/keys/keys-provider.ts';
import { createSmtpMailer } from './providers/smtp/smtp-mailer.ts';
import { createTwilioSms } from './providers/twilio/twilio-sms.ts';
import { createMemoryLimiter } from './rate-limit/memory-limiter.ts';
import { createRedisLimiter } from './rate-limit/redis-limiter.ts';
import { createConsoleNotifier } from './sandbox/notifier.ts';
import { sandboxRoutes } from './sandbox/routes.ts';
import type { Secrets } from './secrets.ts';
import { openSecrets, openStore, openStoreDatabase } from './store.ts';
import { createRecipientBook } from './transfers/recipient-book.ts';
import { transferRoutes } from './transfers/routes.ts';
import { addPages } from './web/pages.ts';

/** What a process does: answer requests, run jobs, or both. */
export interface Roles {
  readonly serve: boolean;
  readonly work: boolean;
}

export interface RunOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly roles: Roles;
  /** Progress for the person at the terminal. */
  readonly say: (line: string) => void;
}

export interface RunningPaywright {
  /** Undefined for a process that only works. */
  readonly publicUrl: string | undefined;
  /** Finishes what is under way, then ends everything that was started, in reverse. */
  stop(): Promise<void>;
}

/** The composition root: configuration → adapters → features → HTTP and jobs. Only this file picks implementations. */
export async function runPaywright(options: RunOptions): Promise<RunningPaywright> {
  const { config, logger, roles, say } = options;
  const closers: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const close of closers.splice(0).reverse()) {
      await close().catch((err: unknown) => logger.error({ err }, 'stopping left something behind'));
    }
  };

  try {
    if (roles.serve) await refuseTakenPort(config);
    const store = await openStore({ config, logger, say, mayJoin: !roles.serve });
    closers.push(() => store.close());
    say('Preparing the database …');
    await claimDatabase(store.url, config.mode);
    await migrate(store.url);
    const db = openStoreDatabase(store, config, logger);
    closers.push(() => db.close());
    const secrets = await openSecrets(config, db);

    const worker = roles.work ? await startWork(options, store.url, db, secrets) : undefined;
    if (worker !== undefined) closers.push(() => worker.stop());
    const publicUrl = roles.serve
      ? await startServing(options, { db, secrets, worker, url: store.url, closers })
      : undefined;
    return { publicUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function startWork({ config, logger, say }: RunOptions, url: string, db: Database, secrets: Secrets): Promise<Worker> {
  return startWorker({
    db,
    url,
    logger,
    handlers: [
      sendMessageHandler({ db, secrets, notifier: chooseNotifier(config, say), keepText: config.mode === 'sandbox' }),
    ],
    schedules: [expireIdempotencyKeys(db, systemClock)],
  });
}

function chooseNotifier({ mode, mail, sms }: Config, say: (line: string) => void): Notifier {
  if (mode === 'sandbox') return createConsoleNotifier(say);
  if (mail === undefined || sms === undefined) throw new Error('live mode has no way to send messages');
  const mailer = createSmtpMailer(mail);
  const texter = createTwilioSms(sms);
  return { send: (message) => (message.channel === 'email' ? mailer : texter).send(message) };
}

interface ServingParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly worker: Worker | undefined;
  readonly url: string;
  readonly closers: (() => Promise<unknown>)[];
}

async function startServing({ config, logger }: RunOptions, parts: ServingParts): Promise<string> {
  const { db, secrets, worker, closers } = parts;
  let publicUrl = config.publicUrl ?? '';

  const limiter = config.redisUrl ? createRedisLimiter(config.redisUrl, logger) : createMemoryLimiter(monotonicClock);
  closers.push(() => limiter.close());

  const keyRing = createKeyRing(db, secrets, () => changes.connected);
  const changes = await startAccountChanges({
    db,
    url: parts.url,
    logger,
    onChange: (accountId) => keyRing.forget(accountId),
    onGap: () => keyRing.forgetAll(),
  });
  closers.push(() => changes.stop());

  const verification = createVerification({ db, secrets, limiter, automatic: config.autoVerify });
  const register = createRegister({
    db,
    secrets,
    passwords: createPasswords(),
    throttle: createSignInThrottle(limiter, config.rateLimits),
    verification,
    wallets: await createKeysProvider(db, secrets),
  });

  // Connections of its own, so that no slow query keeps postings waiting.
  const ledgerDb = openDatabase({
    url: parts.url,
    poolSize: 2,
    logger,
    applicationName: 'paywright-ledger',
    statementTimeoutMs: 12_000,
  });
  closers.push(() => ledgerDb.close());
  const ledger = createLedger({ db: ledgerDb, logger });
  closers.push(() => ledger.stop());

  const routes = describeRoutes(
    [
      ...accountRoutes({ db, once: createOnce(db), register, changes, verification, rateLimits: config.rateLimits }),
      ...transferRoutes({ db, ledger, recipients: createRecipientBook(db) }),
      ...(config.mode === 'sandbox' ? sandboxRoutes({ db, secrets, ledger }) : []),
    ],
    () => publicUrl,
  );

  const app = createServer({
    config,
    publicUrl: () => publicUrl,
    routes: routes.all,
    authenticate: (token) => keyRing.find(token),
    limiter,
    logger,
    pages(pages) {
      addHealth(pages, {
        database: async () => void (await db.query('SELECT')),
        jobs: async () => {
          if (worker?.running === false) throw new Error('the job worker has ended');
          await db.query('SELECT FROM graphile_worker.jobs LIMIT 1');
        },
      });
      addPages(pages, { document: routes.document, mode: config.mode });
    },
  });
  closers.push(() => closeServer(app));
  const port = await listen(app, config);
  publicUrl ||= `http://127.0.0.1:${port}`;
  return publicUrl;
}
