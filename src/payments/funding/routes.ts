import { z } from 'zod';
import type { Networks } from '../../chains/network.ts';
import { orUnavailable } from '../../custody/wallets/errors.ts';
import type { WalletProvider } from '../../custody/wallets/provider.ts';
import { openUserWallet } from '../../custody/wallets/user-wallets.ts';
import { dailyCapErrors } from '../../kernel/daily-caps/count-today.ts';
import type { Database, Queryable, ReadDatabase } from '../../kernel/db/database.ts';
import { amountField, currency, requireAmount } from '../../kernel/http/amount-field.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { findRoute } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { creates } from '../../kernel/http/tool.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import type { RunOnce } from '../../ledger/idempotency.ts';
import { requireLiveKey } from '../../ledger/require-live-key.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import { assets, chains } from '../../money/catalogue.ts';
import { chooseChain } from './choose-chain.ts';
import { fundingErrors } from './errors.ts';
import { createLink, findLink, type Link, type LinkRow, linkColumns, linkTables, tokenOf, toLink } from './link.ts';
import type { OnRamp } from './on-ramp.ts';
import {
  describeLink,
  describeNewLink,
  exampleLink,
  exampleNewLink,
  linkResponse,
  newLinkResponse,
} from './response.ts';
import { type LinkStatus, linkStatuses, statusOf } from './states.ts';

interface LinkQuery {
  readonly accountId: bigint;
  readonly status?: LinkStatus | undefined;
  readonly limit: number;
  readonly cursor: string | undefined;
}

/** Newest first, and one more than the page holds. */
async function listLinks(db: Queryable, { accountId, status, limit, cursor }: LinkQuery): Promise<Link[]> {
  const { rows } = await db.query<LinkRow>(
    `SELECT ${linkColumns} FROM ${linkTables}
      WHERE l.account_id = $1 AND ($2::text IS NULL OR l.id < $2) AND ($3::text IS NULL OR ${statusOf} = $3)
      ORDER BY l.id DESC LIMIT $4`,
    [accountId, cursor ?? null, status ?? null, limit + 1],
  );
  return rows.map(toLink);
}

export interface FundingParts {
  readonly db: Database;
  readonly readDb: ReadDatabase;
  readonly once: RunOnce;
  readonly secrets: Secrets;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly onRamps: readonly OnRamp[];
  /** A function, because the port is known only once the server listens. */
  readonly publicUrl: () => string;
  /** In whole units. */
  readonly maximum: bigint;
}

export function fundingRoutes(parts: FundingParts): Route[] {
  return [createRoute(parts), historyRoute(parts), linkRoute(parts)];
}

function createRoute(parts: FundingParts): Route {
  const { db, once, secrets, networks, onRamps, maximum, publicUrl } = parts;
  return defineRoute(
    {
      id: 'createBuySession',
      method: 'POST',
      path: '/circle/buy-session',
      tag: 'Funding',
      summary: 'Create a funding link',
      tool: { name: 'add_money', title: 'Add money', hints: creates },
      description:
        'Forward `message` to the person who pays: it contains a private link that works for 20 minutes on any device. The person pays by card, or sends from an exchange or wallet to your deposit address. Every deposit is credited to your balance, even if the amount differs or it arrives late. With several open links, a deposit completes the oldest one in its currency that it covers. A retry with the same Idempotency-Key returns the same link.',
      auth: 'key',
      scope: 'pay',
      body: z.strictObject({
        amount: amountField.meta({
          description: `A number or decimal string from 1 to ${maximum}, with at most 6 decimals.`,
        }),
        currency: currency.default('USDC'),
      }),
      examples: { body: { amount: 25, currency: 'USDC' } },
      idempotent: true,
      returns: { 200: { description: 'The link', schema: newLinkResponse, example: exampleNewLink } },
      errors: [fundingErrors.currency_not_receivable, dailyCapErrors.daily_cap_reached, httpErrors.unavailable],
    },
    async ({ caller, body, idempotency }) => {
      const { accountId } = caller;
      const amount = amountWithin(requireAmount(body.currency, body.amount), maximum);
      const chain = chooseChain(networks, amount.asset);
      if (chain === undefined) throw fundingErrors.currency_not_receivable();
      // The wallet must exist before anyone pays into it. The provider is called outside of any transaction.
      await orUnavailable(openUserWallet(parts, accountId, chain));
      // The Idempotency-Key stores only the id; the secret token is derived from it again.
      const kept = await once({ caller, idempotency }, async (tx) => {
        // Without this check, people could be asked to pay into an account that was closed meanwhile.
        await requireLiveKey(tx, caller);
        return ok({ id: await createLink(tx, secrets, { caller, chain, amount }) });
      });
      const link = await findLink(db, kept.body.id, accountId);
      const url = `${publicUrl()}/buy?token=${await tokenOf(db, secrets, link.id)}`;
      const byCard = onRamps.some((onRamp) => onRamp.sells(link.chain, link.amount.asset));
      return { ...kept, body: describeNewLink(link, { url, byCard }) };
    },
  );
}

function amountWithin(amount: Amount, maximum: bigint): Amount {
  const one = 10n ** BigInt(assets[amount.asset].decimals);
  const message = `must be from 1 to ${maximum}`;
  if (amount.atomic >= one && amount.atomic <= maximum * one) return amountOf(amount.asset, amount.atomic);
  throw httpErrors.invalid_request(`amount ${message}.`, { errors: [{ path: 'amount', message }] });
}

function historyRoute({ readDb }: FundingParts): Route {
  return listRoute({
    id: 'listBuySessions',
    path: '/circle/buy-sessions',
    tag: 'Funding',
    summary: 'List your funding links',
    description:
      'Newest first. The list does not repeat the URLs. To get one again, create a new link or repeat the original request with its Idempotency-Key.',
    returns: 'A page of your links',
    name: 'buySessions',
    item: linkResponse,
    example: exampleLink,
    filters: { status: z.enum(linkStatuses).optional() },
    exampleQuery: { status: 'completed' },
    cursorPrefix: 'fnd',
    rows: (query) => listLinks(readDb, query),
    describe: describeLink,
  });
}

function linkRoute({ db }: FundingParts): Route {
  return findRoute({
    id: 'getBuySession',
    path: '/circle/buy-sessions/:id',
    tag: 'Funding',
    summary: 'Retrieve a funding link',
    description: `The money usually arrives on ${chains.MATIC.name}, where you spend it; \`chain\` says where.`,
    returns: 'The link',
    final: ['completed', 'expired'],
    item: linkResponse,
    example: exampleLink,
    notFound: fundingErrors.funding_link_not_found,
    find: async (id, { accountId }) => describeLink(await findLink(db, id, accountId)),
  });
}
