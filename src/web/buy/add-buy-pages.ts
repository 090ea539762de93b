import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Networks, tokenOf } from '../../chains/network.ts';
import { clientAddress } from '../../kernel/http/client-address.ts';
import { createEventStreams } from '../../kernel/http/event-streams.ts';
import { parseQuery } from '../../kernel/http/parse-query.ts';
import { toProblem } from '../../kernel/http/send-problem.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { chains } from '../../money/catalogue.ts';
import { beginPurchase, sellersFor } from '../../payments/funding/begin-purchase.ts';
import type { LinkFollower } from '../../payments/funding/follow-links.ts';
import { type OnRamp, OnRampTrouble } from '../../payments/funding/on-ramp.ts';
import type { FundingPageView } from '../../payments/funding/page-view.ts';
import { livePolicy } from '../content-policy.ts';
import type { Html } from '../html.ts';
import type { PageContext } from '../layout.ts';
import { buyPage, missingPage, returnPage, troublePage } from './buy-page.ts';
import { linkStream } from './link-stream.ts';
import { forgetToken, readToken, rememberToken } from './return-cookie.ts';
import { type BuyView, phaseOf } from './view.ts';

export interface BuyPageParts {
  readonly context: () => PageContext;
  /** A function, because the public URL is known only once the server listens. */
  readonly publicUrl: () => string;
  readonly networks: Networks;
  readonly onRamps: readonly OnRamp[];
  readonly logger: Logger;
  readonly find: (token: string) => Promise<FundingPageView | undefined>;
  readonly follower: LinkFollower;
}

/** The page of a funding link, its event stream, and the redirects to a card company and back. */
export function addBuyPages(app: FastifyInstance, parts: BuyPageParts): void {
  const { context, publicUrl, networks, onRamps, logger, find, follower } = parts;
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
    const link = token && (await find(token));
    return link ? { link, token } : undefined;
  }

  app.register(async (scope) => {
    scope.addHook('preClose', async () => streams.close());
    // Visitors of these pages need HTML instead of problem JSON.
    scope.setErrorHandler((error, request, reply) => {
      const { status, extras } = toProblem(error);
      if (status >= 500) logger.error({ err: error, requestId: request.id }, 'a page failed');
      return send(reply.code(status).headers(extras.headers ?? {}), troublePage(context(), undefined));
    });

    scope.get('/buy', async (request, reply) => {
      const found = await findByRequest(request);
      if (found === undefined) return send(reply.code(404), missingPage(context()));
      const { link, token } = found;
      const page = buyPage(viewOf(link, token), path('/buy/events', token));
      return send(reply.code(link.status === 'expired' ? 410 : 200), page);
    });

    scope.get('/buy/events', async (request, reply) => {
      const found = await findByRequest(request);
      if (found === undefined) return send(reply.code(404), missingPage(context()));
      const { link, token } = found;
      const route = linkStream(
        (signal) => follower.follow(link.id, signal),
        (now) => viewOf(now, token),
      );
      return streams.send(route, (await route.handle({})) as never, request, reply, link.id);
    });

    scope.get<{ Params: { name: string } }>('/buy/card/:name', async (request, reply) => {
      const found = await findByRequest(request);
      if (found === undefined) return send(reply.code(404), missingPage(context()));
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
        return send(reply.code(503), troublePage(context(), path('/buy', token)));
      }
    });

    scope.get('/buy/return', async (request, reply) => {
      const token = readToken(request.headers.cookie);
      if (token === undefined) return send(reply, returnPage(context()));
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

function send(reply: FastifyReply, page: Html): FastifyReply {
  return reply
    .headers({
      'Content-Security-Policy': livePolicy,
      'Cache-Control': 'no-store',
      'X-Robots-Tag': 'noindex, nofollow',
    })
    .type('text/html; charset=utf-8')
    .send(page.toString());
}
