import { startAccountChanges } from '../accounts/account-changes.ts';
import { createKeyRing } from '../accounts/key-ring.ts';
import { createPasswords } from '../accounts/passwords.ts';
import { createRegister } from '../accounts/register.ts';
import { accountRoutes } from '../accounts/routes.ts';
import { createSignInThrottle } from '../accounts/sign-in-throttle.ts';
import { createVerification } from '../accounts/verification.ts';
import { monotonicClock, systemClock } from '../clock.ts';
import { depositRoutes } from '../deposits/routes.ts';
import { checkChains } from '../deposits/watch-chains.ts';
import type { Route } from '../http/define-route.ts';
import { addHealth } from '../http/health.ts';
import { createOnce } from '../http/idempotency.ts';
import { closeServer, listen } from '../http/listen.ts';
import { describeRoutes } from '../http/openapi-route.ts';
import { createServer } from '../http/server.ts';
import { findPageView } from '../invoices/page-view.ts';
import { invoiceRoutes } from '../invoices/routes.ts';
import type { Worker } from '../jobs/worker.ts';
import { addCircleNotifications } from '../providers/circle/notifications.ts';
import type { RateLimiter } from '../rate-limit/limiter.ts';
import { createMemoryLimiter } from '../rate-limit/memory-limiter.ts';
import { createRedisLimiter } from '../rate-limit/redis-limiter.ts';
import { reserveRoutes } from '../reserves/routes.ts';
import { sandboxRoutes } from '../sandbox/routes.ts';
import { createRecipientBook } from '../transfers/recipient-book.ts';
import { transferRoutes } from '../transfers/routes.ts';
import { walletRoutes } from '../wallets/wallet-routes.ts';
import { addInvoicePage } from '../web/invoice-page.ts';
import { addPages } from '../web/pages.ts';
import { webhookRoutes } from '../webhooks/routes.ts';
import { wakeWithdrawal } from '../withdrawals/jobs.ts';
import { withdrawalRoutes } from '../withdrawals/routes.ts';
import type { Foundation } from './foundation.ts';

/** Answers requests. Returns the address that people reach the service at. */
export async function startServing(foundation: Foundation, worker: Worker | undefined): Promise<string> {
  const { config, logger, url, db, secrets, custody, closers } = foundation;
  let publicUrl = config.publicUrl ?? '';

  const limiter = config.redisUrl ? createRedisLimiter(config.redisUrl, logger) : createMemoryLimiter(monotonicClock);
  closers.push(() => limiter.close());

  const keyRing = createKeyRing(db, secrets, () => changes.connected);
  const changes = await startAccountChanges({
    db,
    url,
    logger,
    onChange: (accountId) => keyRing.forget(accountId),
    onGap: () => keyRing.forgetAll(),
  });
  closers.push(() => changes.stop());

  const routes = describeRoutes(
    featureRoutes(foundation, limiter, changes, () => publicUrl),
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
        chains: () => checkChains(db, custody.networks),
      });
      if (custody.circle !== undefined) {
        addCircleNotifications(pages, {
          db,
          provider: custody.circle.provider,
          onTransaction: (transactionId, tx) => wakeWithdrawal(tx, transactionId),
        });
      }
      const context = addPages(pages, { document: routes.document, mode: config.mode });
      addInvoicePage(pages, { context, publicUrl: () => publicUrl, find: (token) => findPageView(db, token) });
    },
  });
  closers.push(() => closeServer(app));
  const port = await listen(app, config);
  publicUrl ||= `http://127.0.0.1:${port}`;
  return publicUrl;
}

type AccountChanges = Awaited<ReturnType<typeof startAccountChanges>>;

function featureRoutes(
  foundation: Foundation,
  limiter: RateLimiter,
  changes: AccountChanges,
  publicUrl: () => string,
): Route[] {
  const { config, db, secrets, ledger, custody, reserves, outgoing, localChains, checkpoint } = foundation;
  const { networks, provider } = custody;
  const once = createOnce(db);
  const verification = createVerification({ db, secrets, limiter, automatic: config.autoVerify });
  const register = createRegister({
    db,
    secrets,
    passwords: createPasswords(),
    throttle: createSignInThrottle(limiter, config.rateLimits),
    verification,
    wallets: provider,
  });
  return [
    ...accountRoutes({ db, once, register, changes, verification, rateLimits: config.rateLimits }),
    ...transferRoutes({ db, ledger, recipients: createRecipientBook(db) }),
    ...invoiceRoutes({ db, once, ledger, clock: systemClock, publicUrl }),
    ...walletRoutes({ db, once, provider, networks }),
    ...depositRoutes(db),
    ...withdrawalRoutes({ db, once, ledger, networks, checkpoint }),
    ...webhookRoutes({ db, once, secrets, outgoing }),
    ...reserveRoutes(reserves),
    ...(localChains === undefined ? [] : sandboxRoutes({ db, secrets, chains: localChains })),
  ];
}
