import { z } from 'zod';
import * as field from '../../accounts/fields.ts';
import { findAccount } from '../../accounts/find-account.ts';
import { amountValue, holding, requireAmount, toAmountValue } from '../../kernel/http/amount-field.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import type { RequestHolder } from '../../kernel/http/holder.ts';
import { type Amount, add, amountOf, subtract } from '../../money/amount.ts';
import { isCurrency } from '../../money/catalogue.ts';
import { orderFee, swapFee, transferFee, withdrawalFee } from '../../money/fees.ts';
import { swapTokens } from '../../payments/swaps/tokens.ts';
import {
  foundProducts,
  type SearchParts,
  searchShop,
  searchWords,
  website,
  websiteOrRefuse,
} from '../../shopping/search/search-shop.ts';

const quotedActions = ['transfer', 'withdraw', 'shopping', 'swap'] as const;

type Action = (typeof quotedActions)[number];

const input = z.strictObject({
  amount: z.string().meta({ description: 'A decimal number with at most as many decimals as the currency has.' }),
  currency: holding.default('USDC'),
  action: z.enum(quotedActions, { error: `must be one of ${quotedActions.join(', ')}` }),
});

const answer = z.object({
  action: z.enum(quotedActions),
  amount: amountValue,
  fee: amountValue,
  net: amountValue.optional().meta({ description: 'The amount minus the fee: what arrives or is swapped.' }),
  total: amountValue.optional().meta({ description: 'The amount plus the fee: what an order costs.' }),
  currency: holding,
});

const fees: Readonly<Record<Action, (amount: Amount) => Amount>> = {
  transfer: transferFee,
  withdraw: withdrawalFee,
  shopping: orderFee,
  swap: swapFee,
};

function amountFor({ amount, currency, action }: z.output<typeof input>): Amount {
  if (!isOffered(action, currency)) {
    const message = `cannot be ${currency} for ${action}`;
    throw httpErrors.invalid_request(`currency ${message}.`, { errors: [{ path: 'currency', message }] });
  }
  return requireAmount(currency, amount);
}

/** Transfers and orders take stablecoins only; withdrawals take every asset. */
function isOffered(action: Action, currency: z.output<typeof holding>): boolean {
  if (action === 'withdraw') return true;
  return action === 'swap' ? swapTokens.some((token) => token === currency) : isCurrency(currency);
}

export interface Call {
  /** The OpenAPI operationId. */
  readonly id: string;
  readonly path: `/nano/${string}`;
  readonly summary: string;
  readonly description: string;
  readonly price: Amount;
  readonly input: z.ZodObject;
  readonly example: Readonly<Record<string, string>>;
  readonly answer: z.ZodType;
  readonly answerExample: unknown;
  /** The payment clears a debt, so it is served only after it has arrived. */
  readonly clearsDebt?: true;
  /** Refuses invalid input before the caller pays. */
  refuse(parts: CallParts, input: unknown): void;
  run(parts: CallParts, input: unknown, holder: RequestHolder): Promise<unknown>;
}

export type CallParts = SearchParts;

interface CallSpec<Input extends z.ZodObject, Answer extends z.ZodType>
  extends Omit<Call, 'input' | 'answer' | 'answerExample' | 'refuse' | 'run'> {
  readonly input: Input;
  readonly answer: Answer;
  readonly answerExample: z.input<Answer>;
  readonly refuse?: (parts: CallParts, input: z.output<Input>) => void;
  readonly run: (parts: CallParts, input: z.output<Input>, holder: RequestHolder) => Promise<z.input<Answer>>;
}

export function defineCall<Input extends z.ZodObject, Answer extends z.ZodType>(spec: CallSpec<Input, Answer>): Call {
  return { refuse: () => {}, ...spec } as unknown as Call;
}

const search = defineCall({
  id: 'nanoSearch',
  path: '/nano/search',
  summary: 'Search a shop',
  description: 'Searches any shop on the web. Returns up to 4 products, best match first, and a page that shows them.',
  price: amountOf('USDC', 1_000n),
  input: z.strictObject({ q: searchWords, website }),
  example: { q: 'mug', website: 'demo-shop.example' },
  answer: foundProducts,
  answerExample: {
    products: [
      {
        title: 'Stoneware Mug, Sea',
        brand: 'Alder Pottery',
        price: '$24.00',
        priceNum: 24,
        url: 'http://demo-shop.example/products/stoneware-mug-sea',
      },
    ],
    previewUrl: 'https://pay.example.com/shopping/preview/8fKq0ZtR7nXv2bLmW9cYsD1e',
  },
  refuse: ({ outgoing }, { website }) => void websiteOrRefuse(website, outgoing),
  run: (parts, { q: query, website }, holder) => searchShop(parts, { website, query, holder, searcher: undefined }),
});

const lookup = defineCall({
  id: 'nanoLookup',
  path: '/nano/lookup',
  summary: 'Check whether an account exists',
  description:
    'By email or handle. An email matches only if its owner has verified it. A call that finds no account succeeds and is charged.',
  price: amountOf('USDC', 100n),
  input: z
    .strictObject({ email: field.email.optional(), handle: field.handle.optional() })
    .refine(
      ({ email, handle }) => (email === undefined) !== (handle === undefined),
      'must have either email or handle, not both',
    ),
  example: { handle: 'PA-7K2M9QXA' },
  answer: z.object({ found: z.boolean(), handle: z.string().nullable() }),
  answerExample: { found: true, handle: 'PA-7K2M9QXA' },
  async run({ db }, { email, handle }) {
    const account = await findAccount(db, email === undefined ? { handle: handle ?? '' } : { email });
    return { found: account !== undefined, handle: account?.handle ?? null };
  },
});

const quote = defineCall({
  id: 'nanoQuote',
  path: '/nano/quote',
  summary: 'Quote a fee',
  description:
    'The fee of a transfer, withdrawal, order or swap, with the amount after the fee (`net`) or, for an order, including it (`total`).',
  price: amountOf('USDC', 100n),
  input,
  example: { amount: '50', currency: 'USDC', action: 'transfer' },
  answer,
  answerExample: { action: 'transfer', amount: 50, fee: 0.75, net: 49.25, currency: 'USDC' },
  refuse: (_parts, asked) => void amountFor(asked),
  async run(_parts, asked) {
    const { action, currency } = asked;
    const amount = amountFor(asked);
    const fee = fees[action](amount);
    const result =
      action === 'shopping'
        ? { total: toAmountValue(add(amount, fee)) }
        : { net: toAmountValue(subtract(amount, fee)) };
    return { action, amount: toAmountValue(amount), fee: toAmountValue(fee), ...result, currency };
  },
});

export const calls: readonly Call[] = [search, lookup, quote];
