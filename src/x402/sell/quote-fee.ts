import { z } from 'zod';
import { amountOrRefuse, figure, holding, toFigure } from '../../kernel/http/amount-field.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { type Amount, add, subtract } from '../../money/amount.ts';
import { isCurrency } from '../../money/catalogue.ts';
import { orderFee, swapFee, transferFee, withdrawalFee } from '../../money/fees.ts';
import { swapTokens } from '../../payments/swaps/tokens.ts';

const quotedActions = ['transfer', 'withdraw', 'shopping', 'swap'] as const;

type Action = (typeof quotedActions)[number];

const input = z.strictObject({
  amount: z.string().meta({ description: 'A decimal number with at most as many decimals as the currency has.' }),
  currency: holding.default('USDC'),
  action: z.enum(quotedActions, { error: `must be one of ${quotedActions.join(', ')}` }),
});

const answer = z.object({
  action: z.enum(quotedActions),
  amount: figure,
  fee: figure,
  net: figure.optional().meta({ description: 'The amount minus the fee: what arrives or is swapped.' }),
  total: figure.optional().meta({ description: 'The amount plus the fee: what an order costs.' }),
  currency: holding,
});

const fees: Readonly<Record<Action, (amount: Amount) => Amount>> = {
  transfer: transferFee,
  withdraw: withdrawalFee,
  shopping: orderFee,
  swap: swapFee,
};

export const quoteFee = {
  input,
  example: { amount: '50', currency: 'USDC', action: 'transfer' },
  answer,
  answerExample: { action: 'transfer' as const, amount: 50, fee: 0.75, net: 49.25, currency: 'USDC' as const },
  refuse(_parts: unknown, asked: z.output<typeof input>): void {
    amountFor(asked);
  },
  async run(_parts: unknown, asked: z.output<typeof input>): Promise<z.input<typeof answer>> {
    const { action, currency } = asked;
    const amount = amountFor(asked);
    const fee = fees[action](amount);
    return {
      action,
      amount: toFigure(amount),
      fee: toFigure(fee),
      ...(action === 'shopping' ? { total: toFigure(add(amount, fee)) } : { net: toFigure(subtract(amount, fee)) }),
      currency,
    };
  },
};

function amountFor({ amount, currency, action }: z.output<typeof input>): Amount {
  if (!isOffered(action, currency)) {
    const message = `cannot be ${currency} for ${action}`;
    throw httpErrors.invalid_request(`currency ${message}.`, { errors: [{ path: 'currency', message }] });
  }
  return amountOrRefuse(currency, amount);
}

/** Transfers and orders take stablecoins only; withdrawals take every asset. */
function isOffered(action: Action, currency: z.output<typeof holding>): boolean {
  if (action === 'withdraw') return true;
  return action === 'swap' ? swapTokens.some((token) => token === currency) : isCurrency(currency);
}
