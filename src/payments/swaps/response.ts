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
    'The part of `airpayFee` that is kept for gas if the swap fails after it was submitted, because the market pays less than `amountOutMin` or gas use rose. The rest is refunded.',
});

export const swapQuote = z.object({
  fromToken: token,
  toToken: token,
  amountIn: z.string(),
  amountOut: z.string().meta({ description: 'What the market currently pays for `amountIn` minus `airpayFee`.' }),
  rate: z.string().meta({ description: '`amountOut` per unit of `amountIn`, rounded down to 18 decimals.' }),
  airpayFee: z.string().meta({ description: '0.5 % of `amountIn`, in the token that is sold.' }),
  gasFeeIfFailed,
  amountOutMin: z.string().meta({ description: '99 % of `amountOut`. If the market pays less, the swap fails.' }),
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

export function describeQuote(terms: SwapTerms): z.input<typeof swapQuote> {
  const { amount, fee, gasFee, amountOut, amountOutMin, rate } = terms;
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

export const swapRecord = z.object({
  txId: z.string(),
  status: z.enum(publicStatuses),
  fromToken: token,
  toToken: token,
  amountIn: z.string().meta({ description: 'The amount taken from your balance, as a decimal string.' }),
  airpayFee: z.string().meta({ description: 'Part of `amountIn`. If the swap fails, it is refunded minus `gasFee`.' }),
  gasFeeIfFailed,
  gasFee: z.string().meta({
    description:
      'The amount kept for gas: "0", unless the swap failed after gas was spent, because the market moved or its key was frozen.',
  }),
  amountOutQuoted: z.string().meta({ description: 'The amount quoted when the swap was accepted.' }),
  amountOutMin: z.string(),
  amountOut: z.string().nullable().meta({
    description: 'The exact amount paid out on chain and credited to your balance.',
  }),
  price: z.string().nullable().meta({
    description: 'The executed price: `amountOut` per unit of `amountIn`. Compare it with `rate` of a quote.',
  }),
  slippage: z.string().nullable().meta({
    description: 'The shortfall against the quote: 0.01 means 1 % less. Negative if the market paid more.',
  }),
  unspent: z.string().nullable().meta({
    description:
      'The part of the input that the pool could not take for lack of liquidity, refunded to your balance. Usually "0".',
  }),
  txHash: z.string().nullable().meta({ description: 'The transaction on Polygon, once sent.' }),
  explorerUrl: z.string().nullable().meta({ description: 'The block explorer page of the transaction.' }),
  error: z
    .string()
    .nullable()
    .meta({ description: 'Why the swap failed. The amount minus `gasFee` is then back in your balance.' }),
  expiresAt: z.iso.datetime().meta({ description: 'The swap fails if it is not executed by then.' }),
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
