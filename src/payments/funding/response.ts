import { z } from 'zod';
import { currency } from '../../kernel/http/amount-field.ts';
import { jsonAmount } from '../../ledger/event-types.ts';
import { toDecimalText, toJsonNumber } from '../../money/amount.ts';
import { chainIds, chains } from '../../money/catalogue.ts';
import type { Link } from './link.ts';
import { linkStatuses } from './states.ts';

/** The only response that includes the URL. */
export const newLinkResponse = z.object({
  id: z
    .string()
    .meta({ description: 'The id of the link in `/circle/buy-sessions`. It cannot be used to open the link.' }),
  url: z.url().meta({ description: 'Send it only to the person who pays. It is shown only once.' }),
  amount: z.number(),
  currency,
  expiresAt: z.iso.datetime().meta({ description: '20 minutes after creation.' }),
  message: z.string().meta({ description: 'Text for the person. Show it verbatim.' }),
});

export const linkResponse = z.object({
  id: z.string(),
  status: z.enum(linkStatuses),
  amount: z.number().meta({ description: 'The requested amount.' }),
  currency,
  chain: z.enum(chainIds).meta({ description: 'The chain on which the deposit is expected.' }),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  card: z
    .object({
      provider: z.string(),
      status: z.enum(['pending', 'sent', 'failed']),
      reason: z.string().nullable(),
    })
    .nullable()
    .meta({
      description: 'The state reported by the card provider. The link completes only when the deposit arrives.',
    }),
  received: z
    .union([z.number(), z.string()])
    .nullable()
    .meta({ description: 'The amount of the deposit that completed the link, which may exceed the requested amount.' }),
  transferId: z.string().nullable().meta({ description: 'The id of that deposit in your transfer history.' }),
  txHash: z.string().nullable(),
  completedAt: z.iso.datetime().nullable(),
});

type NewLinkAnswer = z.input<typeof newLinkResponse>;
type LinkAnswer = z.input<typeof linkResponse>;

export const exampleNewLink = {
  id: 'fnd_01kp3v2m8rfk2s6y0e6v9q4w1x',
  url: 'https://pay.example/buy?token=4fKq0ZtR7nXv2bLmW9cYsD1eH6uJpA3gQk8TzVxB5wM',
  amount: 25,
  currency: 'USDC',
  expiresAt: '2026-01-15T10:20:00.000Z',
  message:
    'To add 25 USDC to the account of Ada (PA-7K2M9QXA), open this link by 10:20 UTC and pay by card, or from an exchange or wallet: https://pay.example/buy?token=4fKq0ZtR7nXv2bLmW9cYsD1eH6uJpA3gQk8TzVxB5wM',
} as const satisfies NewLinkAnswer;

export const exampleLink = {
  id: exampleNewLink.id,
  status: 'completed',
  amount: 25,
  currency: 'USDC',
  chain: 'MATIC',
  createdAt: '2026-01-15T10:00:00.000Z',
  expiresAt: exampleNewLink.expiresAt,
  card: null,
  received: 25,
  transferId: 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x',
  txHash: '0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b',
  completedAt: '2026-01-15T10:03:10.000Z',
} as const satisfies LinkAnswer;

export interface LinkMessageParts {
  readonly url: string;
  readonly byCard: boolean;
}

export function describeNewLink(link: Link, { url, byCard }: LinkMessageParts): NewLinkAnswer {
  const { id, amount, expiresAt } = link;
  return {
    id,
    url,
    amount: toJsonNumber(amount),
    currency: amount.asset as NewLinkAnswer['currency'],
    expiresAt: expiresAt.toISOString(),
    message: messageFor(link, { url, byCard }),
  };
}

/** For a reader who knows neither this service nor tokens. */
function messageFor({ amount, name, handle, expiresAt, chain }: Link, { url, byCard }: LinkMessageParts): string {
  const what = `${toDecimalText(amount)} ${amount.asset}`;
  const how = byCard ? 'pay by card, or from an exchange or wallet' : 'pay from an exchange or wallet';
  const where = chain === 'MATIC' ? '' : ` It arrives on ${chains[chain].name} and stays there.`;
  return `To add ${what} to the account of ${name} (${handle}), open this link by ${expiresAt.toISOString().slice(11, 16)} UTC and ${how}: ${url}${where}`;
}

export function describeLink(link: Link): LinkAnswer {
  const { id, status, amount, chain, createdAt, expiresAt, completion, card } = link;
  return {
    id,
    status,
    amount: toJsonNumber(amount),
    currency: amount.asset as LinkAnswer['currency'],
    chain,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
    card: card && { provider: card.provider, status: card.state, reason: card.reason },
    received: completion === undefined ? null : jsonAmount(completion.amount),
    transferId: completion?.transferId ?? null,
    txHash: completion?.txHash ?? null,
    completedAt: completion?.at.toISOString() ?? null,
  };
}
