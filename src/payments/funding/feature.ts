import { underWay } from '../../accounts/closing/on-account-closing.ts';
import { type CreditedDeposit, depositsCredited } from '../../custody/watch/on-deposits.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { type EventType, jsonAmount } from '../../ledger/event-types.ts';
import { recordEvent } from '../../ledger/events.ts';
import { amountOf } from '../../money/amount.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { addCardNotices, type CardNoticeParts } from './card-notices.ts';
import { forgetLinksSchedule, lockOpenLinks } from './link.ts';
import { matchArrivals, type OpenLink } from './match-arrivals.ts';
import { type FundingParts, fundingRoutes } from './routes.ts';
import { linkPicture } from './states.ts';
import { startWatchingUnconfirmed, type UnconfirmedParts } from './watch-unconfirmed.ts';

const fundingEvents: readonly EventType[] = [{ name: 'funding.completed' }];

function describeCompletion(
  link: OpenLink,
  chain: ChainId,
  deposit: CreditedDeposit,
): Readonly<Record<string, unknown>> {
  const { asset, atomic, txHash, transferId, id: depositId } = deposit;
  return {
    id: link.id,
    transferId,
    amount: jsonAmount(amountOf(asset, atomic)),
    currency: asset,
    asked: jsonAmount(amountOf(asset, link.atomic)),
    chain,
    txHash,
    depositId,
  };
}

/** Completes links in the commit that credits their deposits, so that balance and link always agree. */
export async function completeLinks(
  tx: Transaction,
  chain: ChainId,
  deposits: readonly CreditedDeposit[],
): Promise<void> {
  const links = await lockOpenLinks(tx, chain, [...new Set(deposits.map(({ accountId }) => accountId))]);
  for (const [link, deposit] of matchArrivals(links, deposits.toSorted(byPlaceOnChain))) {
    await tx.query(
      `UPDATE funding_links SET deposit_id = $2, completed_at = clock_timestamp(), arriving = '[]', seen_tx = NULL,
         seen_final = false WHERE id = $1`,
      [link.id, deposit.id],
    );
    const { accountId } = link;
    await recordEvent(tx, { accountId, type: 'funding.completed', data: describeCompletion(link, chain, deposit) });
  }
}

function byPlaceOnChain(one: CreditedDeposit, other: CreditedDeposit): number {
  return Number(one.blockNumber - other.blockNumber) || one.position - other.position;
}

/** The most that one link may ask for, in whole USDC or EURC: more is a typing error. */
const maximum = 100_000n;

export const funding: Feature<{
  serving: Omit<FundingParts, 'maximum'>;
  pages: CardNoticeParts;
  working: UnconfirmedParts & { readonly logger: Logger };
}> = {
  name: 'funding',
  chapters: [
    {
      name: 'Funding',
      description: 'Private links through which a person adds money by card, or from an exchange or wallet.',
      states: linkPicture,
    },
  ],
  events: fundingEvents,
  hooks: [
    depositsCredited.on(completeLinks),
    underWay.on(async (tx, accountId) => {
      const { rows } = await tx.query<{ id: string }>(
        `SELECT l.id FROM funding_links l
          WHERE l.account_id = $1 AND l.completed_at IS NULL
            AND (l.seen_tx IS NOT NULL OR EXISTS (
              SELECT FROM funding_card_payments c
               WHERE c.link_id = l.id AND c.state <> 'failed' AND c.updated_at > now() - interval '1 day'))
          ORDER BY l.id LIMIT 100`,
        [accountId],
      );
      return rows.map(({ id }) => ({ kind: 'funding', id }));
    }),
  ],
  routes: ({ db, readDb, once, secrets, networks, provider, onRamps, publicUrl }) =>
    fundingRoutes({ db, readDb, once, secrets, networks, provider, onRamps, publicUrl, maximum }),
  schedules: ({ db }) => [forgetLinksSchedule(db)],
  pages: addCardNotices,
  loops: (parts) => startWatchingUnconfirmed(parts, parts.logger),
};
