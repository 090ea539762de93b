import type { StatePicture } from '../../kernel/http/openapi.ts';

/**
 * For each state, the possible events and the state they lead to. Only `completed` is stored for good, in the commit
 * that credits the deposit. Everything before it is read from the chain again and again.
 */
export const linkStates = {
  /** No sufficient payment was seen yet. */
  open: { see: 'seen', complete: 'completed', expire: 'expired' },
  /** A sufficient payment is in a block that is not final yet. The link waits for it, however late it gets. */
  seen: { confirm: 'confirmed', undo: 'open', complete: 'completed' },
  confirmed: { undo: 'open', complete: 'completed' },
  completed: {},
  /** Expired before a payment was seen. Later payments are credited, but do not complete this link. */
  expired: {},
} as const satisfies Record<string, Partial<Record<LinkStep, string>>>;

type LinkStep = 'see' | 'confirm' | 'undo' | 'complete' | 'expire';

export type LinkStatus = keyof typeof linkStates;

export const linkStatuses = Object.keys(linkStates) as [LinkStatus, ...LinkStatus[]];

/** The status in SQL for a link `l`, shared by lists, pages and single links. */
export const statusOf = `(CASE WHEN l.completed_at IS NOT NULL THEN 'completed'
  WHEN l.seen_final THEN 'confirmed' WHEN l.seen_tx IS NOT NULL THEN 'seen'
  WHEN l.expires_at <= now() THEN 'expired' ELSE 'open' END)`;

/** The state diagram in the reference. */
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
