import type { StatePicture } from '../../kernel/http/openapi.ts';

/**
 * What a funding link goes through: for each state, what may happen and where that leads. Only `completed` is written down
 * for good, in the commit that credits the deposit; everything before it is read from the chain again and again.
 */
export const linkStates = {
  /** Nothing that is enough was seen yet. */
  open: { see: 'seen', complete: 'completed', expire: 'expired' },
  /** A payment that is enough is in a block, which is not final yet. It is waited for, however late it gets. */
  seen: { confirm: 'confirmed', undo: 'open', complete: 'completed' },
  /** That block is final; the deposit is about to be credited. */
  confirmed: { undo: 'open', complete: 'completed' },
  completed: {},
  /** Its time was over before anything was seen. What arrives later is credited all the same, but not by this link. */
  expired: {},
} as const satisfies Record<string, Partial<Record<LinkStep, string>>>;

type LinkStep = 'see' | 'confirm' | 'undo' | 'complete' | 'expire';

export type LinkStatus = keyof typeof linkStates;

export const linkStatuses = Object.keys(linkStates) as [LinkStatus, ...LinkStatus[]];

/** The same in SQL, for a link `l`, so that lists, pages and single links are of one mind. */
export const statusOf = `(CASE WHEN l.completed_at IS NOT NULL THEN 'completed'
  WHEN l.seen_final THEN 'confirmed' WHEN l.seen_tx IS NOT NULL THEN 'seen'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'open' END)`;

/** What people are told of the way, in the reference. */
export const linkPicture: StatePicture = {
  caption: 'States of a funding link',
  way: [
    { state: 'open', meaning: 'The link is valid, and no payment has arrived yet.', mayFail: true },
    { state: 'seen', meaning: 'The payment is on chain. The link no longer expires.' },
    { state: 'confirmed', meaning: 'The payment is final and about to be credited.' },
    { state: 'completed', meaning: 'The money is in your balance. Event: `funding.completed`.' },
  ],
  failed: {
    state: 'expired',
    meaning: 'No payment arrived within 20 minutes. A later one is credited as a deposit; the link stays expired.',
  },
};
