import { getAddress, type Hex } from 'viem';
import { z } from 'zod';
import { defineRoute, ok, type Route, type RouteRequest } from '../../kernel/http/define-route.ts';
import { amountOf, toDecimalText } from '../../money/amount.ts';
import { headerNames } from '../wire/header.ts';
import { type Call, defineCall } from './calls.ts';
import { nanoErrors } from './errors.ts';
import { readOwed } from './funds.ts';
import { examplePayer, examplePrice, paidAnswers } from './route-answers.ts';
import type { SellingParts } from './sale.ts';
import type { createSales } from './sell-call.ts';
import { paymentChain } from './terms.ts';

const payer = z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'must be a wallet address: 0x followed by 40 hexadecimal digits');

const debt = z.object({
  payer: z.string(),
  debt: z.string().meta({ description: 'The amount this wallet must pay before it is served again.' }),
  uncollected: z.string().meta({
    description:
      'Payments that are not settled yet but still can be. They are collected as soon as the wallet holds enough.',
  }),
  currency: z.literal('USDC'),
});

const example = { payer: examplePayer, debt: '0', uncollected: '0', currency: 'USDC' } as const;

/** What a wallet owes, sold to it for just that. */
function debtCall({ db, till }: SellingParts, owing: Hex, owed: bigint): Call {
  return defineCall({
    id: 'payNanoDebt',
    path: `/nano/debt/${owing}`,
    summary: 'Pay the debt of a wallet',
    description: '',
    price: amountOf('USDC', owed),
    clearsDebt: true,
    input: z.strictObject({ payer }),
    example: { payer: owing },
    answer: debt,
    answerExample: example,
    run: () => describeDebt({ db, till }, owing),
  });
}

async function describeDebt({ db, till }: Pick<SellingParts, 'db' | 'till'>, owing: Hex) {
  const owed = await readOwed(db, { chain: paymentChain, token: till.token, payer: owing });
  return {
    payer: owing,
    debt: toDecimalText(amountOf('USDC', owed.debt)),
    uncollected: toDecimalText(amountOf('USDC', owed.uncollected)),
    currency: 'USDC' as const,
  };
}

/** A wallet whose payments could not be collected pays here what it owes, as it would pay for a call, and is served again. */
export function debtRoute(parts: SellingParts, sell: ReturnType<typeof createSales>): Route {
  const exampleCall = debtCall(parts, examplePayer, 300n);
  return defineRoute(
    {
      id: 'payNanoDebt',
      method: 'GET',
      path: '/nano/debt/:payer',
      tag: 'Nano',
      summary: 'Retrieve or pay the debt of a wallet',
      description:
        'A wallet that cancelled a payment, or had spent the money before settlement, is refused with `payer_in_debt`. 402 states the debt; an x402 payment of that amount from the same wallet clears it once it has settled. No API key is required. A wallet without debt gets 200.',
      auth: 'none',
      params: z.strictObject({ payer }),
      examples: { params: { payer: examplePayer } },
      countsThemselves: [headerNames[1].payment, headerNames[2].payment],
      returns: paidAnswers({
        answer: { description: 'The current debt', schema: debt as z.ZodType, example },
        call: exampleCall,
        price: { ...examplePrice, amount: exampleCall.price },
      }),
      errors: [nanoErrors.invalid_payload, nanoErrors.invalid_x402_version, nanoErrors.payment_identifier_conflict],
    },
    async ({ params, ip, header, count, received }: RouteRequest<'none', undefined, undefined, z.ZodType>) => {
      const owing = getAddress((params as { payer: string }).payer);
      const { debt: owed } = await readOwed(parts.db, {
        chain: paymentChain,
        token: parts.till.token,
        payer: owing,
      });
      const call = debtCall(parts, owing, owed);
      const sale = await sell({
        call,
        input: { payer: owing },
        url: `${parts.publicUrl()}/api${call.path}`,
        caller: undefined,
        header,
        ip,
        count,
        method: received.method,
      });
      // Nothing is owed, so nothing is asked for.
      return sale.status === 402 && owed === 0n ? ok(await describeDebt(parts, owing)) : sale;
    },
  );
}
