import type { Hex } from 'viem';
import { z } from 'zod';
import type { OpenSandboxOptions } from '../../src/app/sandbox-port.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { randomBase62 } from '../../src/kernel/ids/ids.ts';
import type { Secrets } from '../../src/kernel/secrets/secrets.ts';
import { type Amount, amountOf, toDecimalText } from '../../src/money/amount.ts';
import { assetIds, chainIds } from '../../src/money/catalogue.ts';
import { noteCardUpdate } from '../../src/payments/funding/card-notices.ts';
import type { CardState, OnRamp, Purchase } from '../../src/payments/funding/on-ramp.ts';
import type { Faucet } from '../chains/faucet.ts';
import { mintedTokens } from '../chains/tokens.ts';

/** A purchase in progress at the sandbox's card company. */
interface CardSession extends Pick<Purchase, 'reference' | 'chain' | 'address'> {
  /** The company's payment id. */
  readonly id: string;
  readonly amount: Amount;
}

const content = z.object({
  id: z.string(),
  reference: z.string(),
  chain: z.enum(chainIds),
  address: z.string(),
  asset: z.enum(assetIds),
  atomic: z.string(),
  until: z.number(),
});

const lifetimeMs = 20 * 60_000;

/** The sealed session is part of its URL, so it survives restarts and any instance can read it. */
function sealSession(secrets: Secrets, purchase: Purchase, nowMs: number): string {
  const { reference, chain, address, amount } = purchase;
  const session: z.input<typeof content> = {
    id: `card_${randomBase62(16)}`,
    reference,
    chain,
    address,
    asset: amount.asset,
    atomic: String(amount.atomic),
    until: nowMs + lifetimeMs,
  };
  return secrets.seal('sandbox-on-ramp', JSON.stringify(session)).toString('base64url');
}

/** Undefined if it was not sealed by us or has expired. */
function openSession(secrets: Secrets, text: string, nowMs: number): CardSession | undefined {
  const sealed = Buffer.from(text, 'base64url');
  // Base64url has several spellings of the same bytes; only the canonical one is accepted.
  if (sealed.toString('base64url') !== text) return undefined;
  try {
    const opened = secrets.open('sandbox-on-ramp', sealed);
    const { id, reference, chain, address, asset, atomic, until } = content.parse(JSON.parse(opened));
    if (until <= nowMs) return undefined;
    return { id, reference, chain, address: address as Hex, amount: amountOf(asset, BigInt(atomic)) };
  } catch {
    return undefined;
  }
}

/** How a card payment can end: paid, or declined for a usual reason. */
const cardOutcomes = {
  pay: undefined,
  decline: 'the card was declined by its bank',
  'no-money': 'there is not enough money on the card',
  'not-verified': 'the bank could not verify that it was you',
} as const satisfies Record<string, string | undefined>;

type CardOutcome = keyof typeof cardOutcomes;

/** Simulates the card company: a page without a card form, then a mint on the local chain. */
export interface SandboxOnRamp extends OnRamp {
  find(session: string): CardSession | undefined;
  /** Ends the payment with this outcome. A session pays once. Returns false if the session or the outcome is unknown. */
  play(session: string, outcome: string): Promise<boolean>;
}

type SandboxOnRampParts = Pick<OpenSandboxOptions, 'db' | 'secrets' | 'publicUrl'> & {
  readonly faucet: Faucet;
  readonly clock: Clock;
};

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
    // A path, so that it works under every hostname of this machine.
    begin: async (purchase) =>
      `${new URL(publicUrl()).pathname.replace(/\/$/, '')}/sandbox/on-ramp/${sealSession(secrets, purchase, clock.now())}`,
    find: (session) => openSession(secrets, session, clock.now()),
    async play(sealed, outcome) {
      const session = openSession(secrets, sealed, clock.now());
      if (session === undefined || !isOutcome(outcome)) return false;
      const { id, chain, address: to, amount } = session;
      if (outcome !== 'pay') {
        // The buyer may try another card, so a declined payment gets its own id.
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
