import { getAddress } from 'viem';
import { z } from 'zod';
import type { Queryable } from '../../kernel/db/database.ts';
import { defineRoute, ok, type Route, type RouteRequest } from '../../kernel/http/define-route.ts';
import { validate } from '../../kernel/http/validate.ts';
import { balanceErrors } from '../../ledger/balance-errors.ts';
import { toDecimalText } from '../../money/amount.ts';
import { chains } from '../../money/catalogue.ts';
import { paymentRefusals } from '../../policies/refusals.ts';
import { shoppingErrors } from '../../shopping/search/errors.ts';
import { headerNames } from '../wire/header.ts';
import { networkName } from '../wire/messages.ts';
import { type Call, type CallParts, calls } from './calls.ts';
import { type Claim, findClaim } from './claim.ts';
import { debtRoute } from './debt-route.ts';
import { nanoErrors } from './errors.ts';
import { examplePrice, paidAnswers } from './route-answers.ts';
import type { SellingParts } from './sale.ts';
import { createSales } from './sell-call.ts';
import { describePrice, paymentChain } from './terms.ts';

const statuses = ['processing', 'settlement_pending', 'settled', 'written_off', 'lapsed'] as const;

const payment = z.object({
  id: z.string(),
  status: z.enum(statuses).meta({
    description:
      '`processing`: the call is being served. `settlement_pending`: the payment is being settled on chain. `settled`: the payment has arrived. `written_off`: the call was served but the payment never arrived. `lapsed`: the call was not served and the payment can no longer be charged.',
  }),
  served: z.boolean().meta({ description: 'Whether the call was served. If not, send the same request again.' }),
  operation: z.string(),
  amount: z.string(),
  currency: z.string(),
  network: z.string(),
  payer: z.string(),
  payTo: z.string(),
  transaction: z.string().nullable().meta({ description: 'The transaction that settled or is to settle the payment.' }),
  createdAt: z.iso.datetime(),
  settledAt: z.iso.datetime().nullable(),
});

function paymentRoute(db: Queryable): Route {
  return defineRoute(
    {
      id: 'getNanoPayment',
      method: 'GET',
      path: '/nano/payments/:id',
      tag: 'Nano',
      summary: 'Retrieve a payment',
      description: 'The id is the `paymentId` of the receipt. No API key is required.',
      auth: 'none',
      params: z.strictObject({ id: z.string().max(64) }),
      examples: { params: { id: 'npy_01kp3v2m8rfk2s6y0e6v9q4w1x' } },
      returns: {
        200: {
          description: 'The payment',
          schema: payment,
          example: {
            id: 'npy_01kp3v2m8rfk2s6y0e6v9q4w1x',
            status: 'settled',
            served: true,
            operation: 'nanoQuote',
            amount: '0.0001',
            currency: 'USDC',
            network: 'eip155:137',
            payer: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
            payTo: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
            transaction: `0x${'5c'.repeat(32)}`,
            createdAt: '2026-05-01T12:00:00.000Z',
            settledAt: '2026-05-01T12:00:06.000Z',
          },
        },
      },
      errors: [nanoErrors.payment_not_found],
    },
    async ({ params: { id } }) => {
      const claim = await findClaim(db, id);
      if (claim === undefined) throw nanoErrors.payment_not_found();
      return ok(describePayment(claim));
    },
  );
}

function describePayment(claim: Claim): z.input<typeof payment> {
  const { authorization, amount } = claim;
  return {
    id: claim.id,
    status: statusOf(claim),
    served: claim.servedAt !== null,
    operation: claim.resource,
    amount: toDecimalText(amount),
    currency: amount.asset,
    network: networkName(claim.chain, 2),
    payer: getAddress(authorization.from),
    payTo: getAddress(authorization.to),
    transaction: claim.pendingHash,
    createdAt: claim.claimedAt.toISOString(),
    settledAt: claim.arrivedAt?.toISOString() ?? null,
  };
}

function statusOf({ arrivedAt, writtenOffAt, lapsedAt, servedAt, prepaid }: Claim): (typeof statuses)[number] {
  if (arrivedAt !== null) return 'settled';
  if (writtenOffAt !== null) return 'written_off';
  if (lapsedAt !== null) return 'lapsed';
  return servedAt !== null || prepaid ? 'settlement_pending' : 'processing';
}

export function nanoRoutes(parts: SellingParts): Route[] {
  const sell = createSales(parts);
  return [
    statusRoute(parts),
    ...calls.map((call) => callRoute(parts, call, sell)),
    paymentRoute(parts.db),
    debtRoute(parts, sell),
  ];
}

const status = z.object({
  status: z.string(),
  service: z.string(),
  protocol: z.literal('x402'),
  version: z.number().int(),
  network: z.string(),
  asset: z.string().meta({ description: 'The contract address of the payment token.' }),
  payTo: z.string(),
  endpoints: z.record(z.string(), z.object({ price: z.string(), params: z.array(z.string()) })).meta({
    description: 'Keyed by method and path.',
  }),
  docs: z.string(),
});

type Status = z.input<typeof status>;

export async function describeShop({ till, publicUrl }: Pick<SellingParts, 'till' | 'publicUrl'>): Promise<Status> {
  const [first] = calls;
  if (first === undefined) throw new Error('nothing is sold');
  const { payTo, token } = await till.priceOf(first.price);
  return {
    status: 'ok',
    service: 'Paywright',
    protocol: 'x402',
    version: 1,
    network: networkName(paymentChain, 2),
    asset: token,
    payTo,
    endpoints: Object.fromEntries(
      calls.map(({ path, price, input }) => [
        `GET /api${path}`,
        { price: describePrice(price), params: Object.keys(input.shape) },
      ]),
    ),
    docs: `${publicUrl()}/docs`,
  };
}

const exampleStatus: Status = {
  status: 'ok',
  service: 'Paywright',
  protocol: 'x402',
  version: 1,
  network: 'eip155:137',
  asset: chains.MATIC.tokens.USDC,
  payTo: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  endpoints: { 'GET /api/nano/search': { price: '0.001 USDC', params: ['q', 'website'] } },
  docs: 'https://pay.example.com/docs',
};

function statusRoute(parts: SellingParts): Route {
  return defineRoute(
    {
      id: 'nanoStatus',
      method: 'GET',
      path: '/nano',
      tag: 'Nano',
      summary: 'List the paid endpoints',
      description: 'Also at `/.well-known/x402`. No API key is required.',
      auth: 'none',
      returns: {
        200: {
          description: 'The endpoints, their prices and the payment address',
          schema: status,
          example: exampleStatus,
        },
      },
    },
    async () => ok(await describeShop(parts)),
  );
}

/** With a key. A balance that is too low gets the price, as a request without a key does. */
const ofTheKey = [
  ...paymentRefusals.filter((error) => error !== balanceErrors.insufficient_balance),
  // A GET does not wait for the owner; POST /nano/pay does.
  balanceErrors.approval_required,
];

function callRoute(parts: SellingParts, call: Call, sell: ReturnType<typeof createSales>): Route {
  const { id, path, summary, price, input, example, answer, answerExample } = call;
  return defineRoute(
    {
      id,
      method: 'GET',
      path,
      tag: 'Nano',
      summary: `${summary} (${describePrice(price)})`,
      description: `${call.description} Pay per call with x402 version 2 (\`PAYMENT-SIGNATURE\`) or 1 (\`X-PAYMENT\`) without an account, or send an API key to pay from its balance. A request without parameters returns the price, and so does HEAD; neither is charged. A failed call costs nothing, and a retry with the same payment or Idempotency-Key is charged once. If the payment must settle first, the response waits up to 8 seconds, or as long as \`Prefer: wait=2\` says.`,
      auth: 'none',
      scopeOfKey: 'pay',
      query: partly(input),
      examples: { query: example },
      countsThemselves: [headerNames[1].payment, headerNames[2].payment],
      returns: paidAnswers({
        answer: {
          description: 'The result, with a payment receipt in the response headers',
          schema: answer,
          example: answerExample,
        },
        call,
        price: { ...examplePrice, amount: price },
      }),
      errors: [
        nanoErrors.invalid_payload,
        nanoErrors.invalid_x402_version,
        nanoErrors.payment_identifier_conflict,
        ...ofTheKey,
        ...(id === 'nanoSearch' ? Object.values(shoppingErrors) : []),
      ],
    },
    async ({ query, caller, ip, header, count, received }: RouteRequest<'none', undefined, z.ZodType, undefined>) => {
      const { method } = received;
      const request = { call, url: `${parts.publicUrl()}/api${path}`, caller, ip, header, count, method };
      if (Object.keys(query as object).length === 0 && !hasPayment(header)) {
        return sell({ ...request, input: undefined });
      }
      return sell({ ...request, input: readInput(parts, call, query) });
    },
  );
}

function hasPayment(header: (name: string) => string | undefined): boolean {
  return header(headerNames[1].payment) !== undefined || header(headerNames[2].payment) !== undefined;
}

/** A request without parameters asks for the price; any given parameter must be valid. */
function partly(input: z.ZodObject): z.ZodType {
  // A default would make an empty request look like one with parameters.
  const asGiven = (one: z.core.$ZodType) => (one instanceof z.ZodDefault ? one.unwrap() : one);
  return z.strictObject(
    Object.fromEntries(Object.entries(input.shape).map(([name, one]) => [name, z.optional(asGiven(one))])),
  );
}

/** Refuses an invalid request before it is paid. */
export function readInput(parts: CallParts, call: Call, query: unknown): unknown {
  const input = validate('query', call.input, query);
  call.refuse(parts, input);
  return input;
}
