import { z } from 'zod';
import { toDecimalText } from '../../money/amount.ts';
import { chains, homeChain } from '../../money/catalogue.ts';
import type { SwapTerms } from './quote-swap.ts';
import { rateOf, slippageOf } from './rate.ts';
import { publicStatus, publicStatuses } from './saga.ts';
import { gasKeptOf, type Swap } from './swap.ts';
import { swapTokens } from './tokens.ts';

const token = z.enum(swapTokens);
const gasFeeIfFailed = z.string().meta({
  description:
    'Part of airpayFee. It is kept for gas if the swap was begun and the market then pays less than amountOutMin, or uses more gas. The rest comes back.',
});

/** What a swap would come to now. Amounts are decimal text. */
export const swapQuote = z.object({
  fromToken: token,
  toToken: token,
  amountIn: z.string(),
  amountOut: z.string().meta({ description: 'What the market pays now for amountIn less airpayFee.' }),
  rate: z.string().meta({ description: 'amountOut for one of amountIn, rounded down to 18 places.' }),
  airpayFee: z.string().meta({ description: '0.5 % of amountIn, in the token that is sold.' }),
  gasFeeIfFailed,
  amountOutMin: z.string().meta({ description: '99 % of amountOut. If the market pays less, nothing is swapped.' }),
});

export const exampleQuote: z.input<typeof swapQuote> = {
  fromToken: 'USDC',
  toToken: 'ETH',
  amountIn: '100',
  amountOut: '0.033146580149999',
  rate: '0.00033146580149999',
  airpayFee: '0.5',
  gasFeeIfFailed: '0.0061',
  amountOutMin: '0.032815114348499',
};

export function describeQuote({
  amount,
  fee,
  gasFee,
  amountOut,
  amountOutMin,
  rate,
}: SwapTerms): z.input<typeof swapQuote> {
  return {
    fromToken: amount.asset as (typeof swapTokens)[number],
    toToken: amountOut.asset as (typeof swapTokens)[number],
    amountIn: toDecimalText(amount),
    amountOut: toDecimalText(amountOut),
    rate,
    airpayFee: toDecimalText(fee),
    gasFeeIfFailed: toDecimalText(gasFee),
    amountOutMin: toDecimalText(amountOutMin),
  };
}

/** Where a swap is. */
export const swapRecord = z.object({
  txId: z.string(),
  status: z.enum(publicStatuses),
  fromToken: token,
  toToken: token,
  amountIn: z.string().meta({ description: 'What left your balance, as decimal text.' }),
  airpayFee: z.string().meta({ description: 'Part of amountIn. If the swap fails, it comes back too, less gasFee.' }),
  gasFeeIfFailed,
  gasFee: z.string().meta({
    description: 'What was kept for gas. "0", unless the swap failed because the market moved after it was begun.',
  }),
  amountOutQuoted: z.string().meta({ description: 'What the market said when the swap was accepted.' }),
  amountOutMin: z.string(),
  amountOut: z.string().nullable().meta({
    description: 'What the chain has paid out and is in your balance, to the last unit.',
  }),
  price: z.string().nullable().meta({
    description: 'The price reached: amountOut for one of amountIn, to be compared with `rate` of a quote.',
  }),
  slippage: z.string().nullable().meta({
    description: 'By which part less was paid than was quoted: 0.01 is 1 %. Below zero when it was more.',
  }),
  unspent: z.string().nullable().meta({
    description:
      'What the market has not taken, because it ran dry on the way, and is back in your balance. "0" as a rule.',
  }),
  txHash: z.string().nullable().meta({ description: 'The transaction on Polygon, once it is sent.' }),
  explorerUrl: z.string().nullable().meta({ description: 'Where a person can look at it.' }),
  error: z.string().nullable().meta({ description: 'Why it failed. The amount is back then, less gasFee.' }),
  expiresAt: z.iso.datetime().meta({ description: 'If it is not swapped until then, it fails.' }),
  createdAt: z.iso.datetime(),
  finishedAt: z.iso.datetime().nullable(),
});

type SwapRecord = z.input<typeof swapRecord>;

const exampleHash = '0x2f1c5c2b44f771e942a8506148e256f94f1a464babc938ae0690c6e34cd79190';

export const exampleSwap: SwapRecord = {
  txId: 'swp_01kp3v2m8rfk2s6y0e6v9q4w1x',
  status: 'completed',
  fromToken: 'USDC',
  toToken: 'ETH',
  amountIn: '100',
  airpayFee: '0.5',
  gasFeeIfFailed: '0.0061',
  gasFee: '0',
  amountOutQuoted: '0.033146580149999',
  amountOutMin: '0.032815114348499',
  amountOut: '0.03314',
  price: '0.0003314',
  slippage: '0.000198516829164722',
  unspent: '0',
  txHash: exampleHash,
  explorerUrl: `https://polygonscan.com/tx/${exampleHash}`,
  error: null,
  expiresAt: '2026-01-15T10:20:00.000Z',
  createdAt: '2026-01-15T10:00:00.000Z',
  finishedAt: '2026-01-15T10:03:20.000Z',
};

export function describeSwap(swap: Swap): SwapRecord {
  const { amount, fee, quoted, amountOutMin, amountOut, unspent, txHash } = swap;
  return {
    txId: swap.id,
    status: publicStatus(swap.status),
    fromToken: amount.asset as SwapRecord['fromToken'],
    toToken: quoted.asset as SwapRecord['toToken'],
    amountIn: toDecimalText(amount),
    airpayFee: toDecimalText(fee),
    gasFeeIfFailed: toDecimalText(swap.gasFee),
    gasFee: toDecimalText(gasKeptOf(swap)),
    amountOutQuoted: toDecimalText(quoted),
    amountOutMin: toDecimalText(amountOutMin),
    amountOut: amountOut && toDecimalText(amountOut),
    price: amountOut && rateOf(amountOut, amount),
    slippage: amountOut && slippageOf(amountOut, quoted),
    unspent: amountOut && toDecimalText(unspent),
    txHash,
    explorerUrl: txHash && `${chains[homeChain].explorer}/tx/${txHash}`,
    error: swap.error,
    expiresAt: new Date(Number(swap.deadline) * 1_000).toISOString(),
    createdAt: swap.createdAt.toISOString(),
    finishedAt: swap.finishedAt?.toISOString() ?? null,
  };
}
