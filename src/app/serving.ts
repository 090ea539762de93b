import type { FastifyInstance } from 'fastify';
import { startAccountChanges } from '../accounts/account-changes.ts';
import { accounts } from '../accounts/feature.ts';
import { accessTokens, apiKeys, createKeyCache, createKeyUses } from '../accounts/keys/key-cache.ts';
import { looksLikeAccessToken } from '../accounts/oauth/tokens.ts';
import { createPasswords, type PasswordCost } from '../accounts/passwords/passwords.ts';
import { createSignInThrottle } from '../accounts/passwords/sign-in-throttle.ts';
import { monotonicClock } from '../kernel/clock.ts';
import type { ReadDatabase } from '../kernel/db/database.ts';
import { openReadDatabase } from '../kernel/db/read-database.ts';
import { addHealth, createReadiness } from '../kernel/http/health.ts';
import { closeServer, listen } from '../kernel/http/listen.ts';
import { describeRoutes } from '../kernel/http/openapi-route.ts';
import { createServer } from '../kernel/http/server.ts';
import type { Wakes } from '../kernel/jobs/wakes.ts';
import type { Worker } from '../kernel/jobs/worker.ts';
import type { RateLimiter } from '../kernel/rate-limit/limiter.ts';
import { limiterMetrics } from '../kernel/rate-limit/limiter-metrics.ts';
import { createMemoryLimiter } from '../kernel/rate-limit/memory-limiter.ts';
import { createOnce } from '../ledger/idempotency.ts';
import { createAskOwner } from '../policies/approvals/ask-owner.ts';
import { createConsent } from '../policies/create-consent.ts';
import { decisions } from '../policies/decisions/feature.ts';
import { createRefusalBook } from '../policies/decisions/refusal-book.ts';
import { policies } from '../policies/feature.ts';
import type { Foundation } from './foundation.ts';
import { gather, settingsOf } from './listed-feature.ts';
import type { PageParts, ServingParts } from './parts.ts';
import { waysToPay } from './ways.ts';

export interface ServingOptions {
  /** Undefined when another process runs the jobs. */
  readonly worker: Worker | undefined;
  readonly wakes: Wakes;
  /** Only set by tests. */
  readonly passwordCost: PasswordCost | undefined;
}

/** Serves requests. Returns the public URL. */
export async function startServing(
  foundation: Foundation,
  { worker, wakes, passwordCost }: ServingOptions,
): Promise<string> {
  const { features, config, logger, url, db, secrets, clock, publicUrl, closers, meters } = foundation;

  const limiter = await openLimiter(foundation);
  closers.push(() => limiter.close());
  meters?.more.push(limiterMetrics(limiter));

  const { idleMs } = settingsOf(config, accounts);
  const uses = createKeyUses({ db, logger });
  closers.push(() => uses.stop());
  const cache = { db, secrets, mayRemember: () => accountChanges.connected, clock, idleMs, uses };
  const keyRing = createKeyCache({ ...cache, credential: apiKeys });
  const tokenRing = createKeyCache({ ...cache, credential: accessTokens });
  const accountChanges = await startAccountChanges({
    db,
    url,
    logger,
    onChange(accountId) {
      for (const ring of [keyRing, tokenRing]) ring.forget(accountId);
    },
    onGap() {
      for (const ring of [keyRing, tokenRing]) ring.forgetAll();
    },
  });
  closers.push(() => accountChanges.stop());

  const { rateLimits } = config;
  const refusals = createRefusalBook({ db, logger, windowMs: settingsOf(config, decisions).windowMs });
  closers.push(() => refusals.stop());
  const consent = createConsent({
    refusals,
    db,
    clock,
    publicUrl,
    rates: { market: foundation.market, euro: settingsOf(config, policies).euro, clock: monotonicClock },
  });
  const passwords = createPasswords(passwordCost);
  const throttle = createSignInThrottle({ ...settingsOf(config, accounts), limiter, rateLimits, passwords, clock });
  const ways = waysToPay(foundation);
  const once = createOnce(db);
  const stopping = new AbortController();
  const parts: Foundation & ServingParts = {
    ...foundation,
    readDb: openReplicas(foundation),
    once,
    limiter,
    rateLimits,
    accountChanges,
    consent,
    ways,
    routes: () => routes,
    wakes,
    stopping: stopping.signal,
    passwords,
    throttle,
    idleMs,
  };
  const { all: routes, document } = describeRoutes(
    gather(features, config, (feature, settings) => feature.routes?.(parts, settings)),
    gather(features, config, ({ chapters }) => chapters),
    publicUrl,
  );
  const app = createServer({
    config,
    publicUrl,
    routes,
    authenticate: (token, visit) => keyRing.find(token, visit),
    authenticateClient: (token, visit) => (looksLikeAccessToken(token) ? tokenRing : keyRing).find(token, visit),
    limiter,
    secrets,
    askOwner: createAskOwner(foundation),
    logger,
    onAnswered: meters?.requests.count,
    pages: (pages, api) => addFeaturePages(pages, { ...parts, document, api }, worker),
  });
  closers.push(() => closeServer(app));
  closers.push(async () => stopping.abort());
  foundation.listensOn(await listen(app, config));
  return publicUrl();
}

function openReplicas({ config, url: primaryUrl, db, logger, closers, meters }: Foundation): ReadDatabase {
  const { databaseReadUrl: url, databasePoolSize: poolSize } = config;
  if (url === undefined) return db;
  const reads = openReadDatabase({ db, primaryUrl, url, poolSize, logger });
  closers.push(() => reads.close());
  meters?.more.push(reads.metrics);
  for (const [name, pool] of reads.pools) meters?.pools.set(name, pool);
  return reads;
}

/** The Redis client is loaded only if it is configured. */
async function openLimiter({ config, logger }: Foundation): Promise<RateLimiter> {
  if (!config.redisUrl) return createMemoryLimiter(monotonicClock);
  const { createRedisLimiter } = await import('../kernel/rate-limit/redis-limiter.ts');
  return createRedisLimiter(config.redisUrl, logger);
}

function addFeaturePages(
  pages: FastifyInstance,
  parts: Foundation & Omit<PageParts, 'readiness'>,
  worker: Worker | undefined,
): void {
  const { db, features } = parts;
  const readiness = createReadiness({
    async database() {
      await db.query('SELECT');
      return [];
    },
    async jobs() {
      if (worker?.running === false) throw new Error('the job worker has ended');
      await db.query('SELECT FROM graphile_worker.jobs LIMIT 1');
      return [];
    },
    ...Object.assign({}, ...features.map((feature) => feature.checks?.(parts))),
  });
  addHealth(pages, readiness);
  for (const feature of features) feature.pages?.(pages, { ...parts, readiness });
}
