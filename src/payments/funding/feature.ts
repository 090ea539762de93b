import { underWay } from '../../accounts/closing/on-account-closing.ts';
import { depositsCredited } from '../../custody/watch/on-deposits.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { addCardNotices, type CardNoticeParts } from './card-notices.ts';
import { completeLinks } from './complete-links.ts';
import { fundingEvents } from './events.ts';
import { forgetLinksSchedule } from './forget-links.ts';
import { type LookParts, startLooking } from './look-at-chains.ts';
import type { FundingParts } from './parts.ts';
import { fundingRoutes } from './routes.ts';
import { linkPicture } from './states.ts';

/** The most that one link may ask for, in whole USDC or EURC: more is a typing error. */
const maximum = 100_000n;

export const funding: Feature<{
  serving: Omit<FundingParts, 'maximum'>;
  pages: CardNoticeParts;
  working: LookParts & { readonly logger: Logger };
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
  routes: ({ db, once, secrets, networks, provider, onRamps, publicUrl }) =>
    fundingRoutes({ db, once, secrets, networks, provider, onRamps, publicUrl, maximum }),
  schedules: ({ db }) => [forgetLinksSchedule(db)],
  pages: addCardNotices,
  loops: (parts) => startLooking(parts, parts.logger),
};
