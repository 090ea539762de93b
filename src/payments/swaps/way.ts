import { z } from 'zod';
import type { SilentChains } from '../../chains/network.ts';
import { chainDownErrors, refuseSilent } from '../../custody/wallets/errors.ts';
import { amountField, requireAmount } from '../../kernel/http/amount-field.ts';
import { notDuplicateOf } from '../../kernel/http/duplicate-guard.ts';
import { amountOf, toText } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import { note } from '../../policies/approvals/asks.ts';
import type { Fact, Payment } from '../../policies/consent.ts';
import type { Way } from '../../policies/way.ts';
import { swapErrors } from './errors.ts';
import { type QuoteParts, quoteSwap, type SwapTerms } from './quote-swap.ts';
import { isSwapToken, type SwapToken, swapTokens } from './tokens.ts';

/** Any string, so that an unknown token gets the code `unknown_token` instead of `invalid_request`. */
const token = z.string().meta({ description: `One of ${swapTokens.join(', ')}.`, enum: [...swapTokens] });
const amount = amountField.meta({
  description:
    'A number or decimal string greater than 0, with at most 6 decimals for USDC and 18 for the others. Use a string for full precision.',
});
export const wanted = z.strictObject({ from: token, to: token, amount });

export const swapBody = wanted.extend({ note, notDuplicateOf });

export async function readTerms(
  parts: QuoteParts,
  { from, to, amount: given }: z.output<typeof wanted>,
): Promise<SwapTerms> {
  const [sold, bought] = [requireToken('from', from), requireToken('to', to)];
  if (sold === bought) throw swapErrors.same_token();
  return quoteSwap(parts, requireAmount(sold, given), bought);
}

function requireToken(path: string, text: string): SwapToken {
  if (isSwapToken(text)) return text;
  const message = `must be one of ${swapTokens.join(', ')}`;
  throw swapErrors.unknown_token(`${path} ${message}, in exactly this spelling.`, { errors: [{ path, message }] });
}

export interface SwapWayParts extends QuoteParts {
  readonly silentChains: SilentChains;
}

/** The terms of the swap, or why it cannot be made now. */
export async function readSwap(
  parts: SwapWayParts,
  body: z.output<typeof wanted>,
): Promise<{ readonly payment: Payment; readonly terms: SwapTerms }> {
  await refuseSilent(parts.silentChains, homeChain);
  const terms = await readTerms(parts, body);
  const facts = () => swapFacts(terms);
  return { payment: { operation: 'swap', amount: terms.amount, chains: [homeChain], facts }, terms };
}

/** The price changes all the time, so it may become one percent worse. */
function swapFacts({ fee, amountOutMin }: SwapTerms): readonly Fact[] {
  const least = (amountOutMin.atomic * 99n) / 100n;
  return [
    { label: 'Into', text: amountOutMin.asset },
    { label: 'Fee', text: toText(fee) },
    {
      label: 'You receive at least',
      text: toText(amountOf(amountOutMin.asset, least)),
      promise: { least, actual: amountOutMin.atomic },
    },
  ];
}

export const quoteRefusals = [
  swapErrors.unknown_token,
  swapErrors.same_token,
  swapErrors.swap_amount_too_small,
  swapErrors.insufficient_liquidity,
  swapErrors.price_impact_too_high,
];
export const swapRefusals = [...quoteRefusals, chainDownErrors.chain_not_available];

export function swapWay(parts: SwapWayParts): Way<typeof swapBody> {
  return {
    operation: 'swap',
    scope: 'pay',
    body: swapBody,
    refusals: swapRefusals,
    read: (_caller, body) => readSwap(parts, body),
  };
}
