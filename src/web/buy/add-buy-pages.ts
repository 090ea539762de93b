import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Networks, tokenOf } from '../../chains/network.ts';
import type { Database } from '../../kernel/db/database.ts';
import { clientAddress } from '../../kernel/http/client-address.ts';
import type { Route } from '../../kernel/http/define-route.ts';
import { defineStream } from '../../kernel/http/define-stream.ts';
import { createEventStreams } from '../../kernel/http/event-streams.ts';
import { parseQuery } from '../../kernel/http/parse-query.ts';
import { toProblem } from '../../kernel/http/send-problem.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { chains } from '../../money/catalogue.ts';
import { type OnRamp, OnRampTrouble } from '../../payments/funding/on-ramp.ts';
import {
  beginPurchase,
  createLinkFollower,
  type FundingPageView,
  findFundingPage,
  sellersFor,
} from '../../payments/funding/page-view.ts';
import { livePolicy } from '../content-policy.ts';
import type { Html } from '../html.ts';
import { type PageContext, sendPrivate } from '../layout.ts';
import { buyMain, buyPage, errorPage, missingPage, returnPage, titleOf } from './buy-page.ts';
import { announcement, type BuyView, phaseOf, progress } from './progress.ts';

/** Rendered markup, so that only the server knows how the page looks. */
const state = z.object({
  phase: z.enum(['paying', 'waiting', 'over']),
  title: z.string(),
  said: z.string(),
  progress: z.string(),
  main: z.string(),
});

/** The event stream of one open page. It is not an operation of the public API. */
function linkStream(
  follow: (signal: AbortSignal) => AsyncIterable<FundingPageView>,
  viewOf: (link: FundingPageView) => BuyView,
): Route {
  return defineStream(
    {
      id: 'followFundingLink',
      path: '/buy/events',
      tag: 'Funding',
      summary: 'What becomes of a funding link',
      description: 'Until it is completed or has expired.',
      auth: 'none',
      events: { state: { description: 'What the page shows now', schema: state, example: {} } },
    },
    async () =>
      async function* tell(signal) {
        for await (const link of follow(signal)) {
          const view = viewOf(link);
          const phase = phaseOf(link);
          yield {
            event: 'state' as const,
            data: {
              phase,
              title: titleOf(view),
              said: announcement(view),
              progress: phase === 'over' ? '' : progress(view).toString(),
              main: buyMain(view).toString(),
            },
          };
          if (phase === 'over') return;
        }
      },
  );
}

/**
 * Card companies send people back to a fixed address. A cookie for that address alone remembers the link, so that the company
 * never sees the token.
 */
const name = 'paywright_buy';
const lifetimeSeconds = 3_600;

function rememberToken(token: string, base: string, publicUrl: string): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : '';
  return `${name}=${token}; Path=${base}/buy/return; Max-Age=${lifetimeSeconds}; HttpOnly; SameSite=Lax${secure}`;
}

function forgetToken(base: string): string {
  return `${name}=; Path=${base}/buy/return; Max-Age=0; HttpOnly; SameSite=Lax`;
}

function readToken(cookies: string | undefined): string | undefined {
  const found = cookies?.split(/; */).find((cookie) => cookie.startsWith(`${name}=`));
  const token = found?.slice(name.length + 1);
  return token !== undefined && /^[\w-]{43}$/.test(token) ? token : undefined;
}

export interface BuyPageParts {
  readonly context: () => PageContext;
  /** A function, because the public URL is known only once the server listens. */
  readonly publicUrl: () => string;
  readonly networks: Networks;
  readonly onRamps: readonly OnRamp[];
  readonly logger: Logger;
  readonly db: Database;
  readonly secrets: Secrets;
}

const sendPage = (reply: FastifyReply, page: Html) => sendPrivate(reply, page, livePolicy);

/** The page of a funding link, its event stream, and the redirects to a card company and back. */
export function addBuyPages(app: FastifyInstance, parts: BuyPageParts): void {
  const { context, publicUrl, networks, onRamps, logger, db, secrets } = parts;
  const follower = createLinkFollower({ db });
  const streams = createEventStreams({ logger, publicUrl });
  const path = (name: string, token: string) => `${context().base}${name}?token=${token}`;

  function viewOf(link: FundingPageView, token: string): BuyView {
    const network = networks.get(link.chain);
    return {
      link,
      token: network && tokenOf(network, link.amount.asset)?.address,
      confirmations: network?.confirmations ?? chains[link.chain].confirmations,
      sellers: sellersFor(onRamps, link).map(({ name, label }) => ({ label, href: path(`/buy/card/${name}`, token) })),
      context: context(),
    };
  }

  /** An invalid token is treated like an unknown link. */
  async function findByRequest({ url }: FastifyRequest): Promise<{ link: FundingPageView; token: string } | undefined> {
    const token = tokenIn(url);
    const link = token && (await findFundingPage(db, secrets, token));
    return link ? { link, token } : undefined;
  }

  app.register(async (scope) => {
    scope.addHook('preClose', async () => streams.close());
    // Visitors of these pages need HTML instead of problem JSON.
    scope.setErrorHandler((error, request, reply) => {
      const { status, extras } = toProblem(error);
      if (status >= 500) logger.error({ err: error, requestId: request.id }, 'a page failed');
      return sendPage(reply.code(status).headers(extras.headers ?? {}), errorPage(context(), undefined));
    });

    scope.get('/buy', async (request, reply) => {
      const found = await findByRequest(request);
      if (found === undefined) return sendPage(reply.code(404), missingPage(context()));
      const { link, token } = found;
      const page = buyPage(viewOf(link, token), path('/buy/events', token));
      return sendPage(reply.code(link.status === 'expired' ? 410 : 200), page);
    });

    scope.get('/buy/events', async (request, reply) => {
      const found = await findByRequest(request);
      if (found === undefined) return sendPage(reply.code(404), missingPage(context()));
      const { link, token } = found;
      const route = linkStream(
        (signal) => follower.follow(link.id, signal),
        (now) => viewOf(now, token),
      );
      return streams.send(route, (await route.handle({})) as never, request, reply, link.id);
    });

    scope.get<{ Params: { name: string } }>('/buy/card/:name', async (request, reply) => {
      const found = await findByRequest(request);
      if (found === undefined) return sendPage(reply.code(404), missingPage(context()));
      const { link, token } = found;
      const seller = sellersFor(onRamps, link).find(({ name }) => name === request.params.name);
      // The page itself says that the link is paid or has expired.
      if (seller === undefined || phaseOf(link) !== 'paying') return reply.redirect(path('/buy', token), 303);
      try {
        const clientIp = clientAddress(request.ip, request.socket.remoteAddress);
        const where = await beginPurchase(seller, link, { returnUrl: `${publicUrl()}/buy/return`, clientIp });
        return reply.header('Set-Cookie', rememberToken(token, context().base, publicUrl())).redirect(where, 303);
      } catch (error) {
        if (!(error instanceof OnRampTrouble)) throw error;
        logger.warn({ provider: seller.name, trouble: error.message }, 'a card payment cannot start');
        return sendPage(reply.code(503), errorPage(context(), path('/buy', token)));
      }
    });

    scope.get('/buy/return', async (request, reply) => {
      const token = readToken(request.headers.cookie);
      if (token === undefined) return sendPage(reply, returnPage(context()));
      return reply.header('Set-Cookie', forgetToken(context().base)).redirect(path('/buy', token), 303);
    });
  });
}

/** Undefined for a missing, repeated or malformed token. */
function tokenIn(url: string): string | undefined {
  try {
    return parseQuery(url)['token'];
  } catch {
    return undefined;
  }
}
