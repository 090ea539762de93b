import { z } from 'zod';
import * as field from '../../accounts/fields.ts';
import { findAccount } from '../../accounts/find-account.ts';
import type { RequestHolder } from '../../kernel/http/holder.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import { foundProducts, type SearchParts, searchShop, searchWords } from '../../shopping/search/search-shop.ts';
import { website, websiteOrRefuse } from '../../shopping/search/website-field.ts';
import { quoteFee } from './quote-fee.ts';

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
  extends Omit<Call, 'input' | 'answer' | 'example' | 'answerExample' | 'refuse' | 'run'> {
  readonly input: Input;
  readonly answer: Answer;
  readonly example: Readonly<Record<string, string>>;
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
  ...quoteFee,
});

export const calls: readonly Call[] = [search, lookup, quote];
