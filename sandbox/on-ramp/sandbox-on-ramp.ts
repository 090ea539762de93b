import type { Clock } from '../../src/kernel/clock.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { randomBase62 } from '../../src/kernel/ids/ids.ts';
import type { Secrets } from '../../src/kernel/secrets/secrets.ts';
import { toDecimalText } from '../../src/money/amount.ts';
import { noteCardUpdate } from '../../src/payments/funding/note-card-update.ts';
import type { CardState, OnRamp } from '../../src/payments/funding/on-ramp.ts';
import type { Faucet } from '../chains/faucet.ts';
import { mintedTokens } from '../chains/tokens.ts';
import { type CardSession, openSession, sealSession } from './card-session.ts';

/** How a payment by card can end here: it is paid, or refused for one of the usual reasons. */
const cardOutcomes = {
  pay: undefined,
  decline: 'the card was declined by its bank',
  'no-money': 'there is not enough money on the card',
  'not-verified': 'the bank could not verify that it was you',
} as const satisfies Record<string, string | undefined>;

type CardOutcome = keyof typeof cardOutcomes;

/** Plays the card company: on a page of ours, where no card is asked for, and then on the local chain. */
export interface SandboxOnRamp extends OnRamp {
  find(session: string): CardSession | undefined;
  /**
   * Ends the payment as the person wishes. A session pays once, however often it is asked to. False when there is no such
   * session, or no such outcome.
   */
  play(session: string, outcome: string): Promise<boolean>;
}

export interface SandboxOnRampParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly faucet: Faucet;
  readonly clock: Clock;
  /** Where the service is reached; known for certain only once it listens. */
  readonly publicUrl: () => string;
}

const name = 'sandbox';

export function createSandboxOnRamp({ db, secrets, faucet, clock, publicUrl }: SandboxOnRampParts): SandboxOnRamp {
  const tell = (session: CardSession, paymentId: string, state: CardState, reason?: string) =>
    noteCardUpdate(db, name, {
      reference: session.reference,
      paymentId,
      state,
      amount: toDecimalText(session.amount),
      asset: session.amount.asset,
      address: session.address,
      reason,
    });

  return {
    name,
    label: 'the test card company',
    sells: (chain, asset) => mintedTokens[chain].some((token) => token.asset === asset),
    // A path and not a full address, so that it works under every name that this machine is reached by.
    begin: async (purchase) =>
      `${new URL(publicUrl()).pathname.replace(/\/$/, '')}/sandbox/on-ramp/${sealSession(secrets, purchase, clock.now())}`,
    find: (session) => openSession(secrets, session, clock.now()),
    async play(sealed, outcome) {
      const session = openSession(secrets, sealed, clock.now());
      if (session === undefined || !isOutcome(outcome)) return false;
      const { id, chain, address: to, amount } = session;
      if (outcome !== 'pay') {
        // Another card may still be tried, so what was refused is a payment of its own.
        await tell(session, `${id}_${randomBase62(6)}`, 'failed', cardOutcomes[outcome]);
        return true;
      }
      await tell(session, id, 'pending');
      await faucet.mint({ id: `on-ramp ${id}`, chain, asset: amount.asset, atomic: amount.atomic, to });
      await tell(session, id, 'sent');
      return true;
    },
  };
}

function isOutcome(text: string): text is CardOutcome {
  return Object.hasOwn(cardOutcomes, text);
}
