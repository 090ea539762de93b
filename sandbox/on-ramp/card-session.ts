import type { Hex } from 'viem';
import { z } from 'zod';
import { randomBase62 } from '../../src/kernel/ids/ids.ts';
import type { Secrets } from '../../src/kernel/secrets/secrets.ts';
import { type Amount, amountOf } from '../../src/money/amount.ts';
import { assetIds, chainIds } from '../../src/money/catalogue.ts';
import type { Purchase } from '../../src/payments/funding/on-ramp.ts';

/** A purchase in progress at the sandbox's card company. */
export interface CardSession extends Pick<Purchase, 'reference' | 'chain' | 'address'> {
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
export function sealSession(secrets: Secrets, purchase: Purchase, nowMs: number): string {
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
export function openSession(secrets: Secrets, text: string, nowMs: number): CardSession | undefined {
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
