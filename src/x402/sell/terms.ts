import type { Hex } from 'viem';
import { z } from 'zod';
import { type Amount, toDecimalText } from '../../money/amount.ts';
import { type ChainId, homeChain } from '../../money/catalogue.ts';
import { encodeHeader, headerNames } from '../wire/header.ts';
import { networkName, type Terms1, type Terms2 } from '../wire/messages.ts';
import type { Call } from './calls.ts';
import { type Reason, reasons } from './reasons.ts';

export const paymentChain: ChainId = homeChain;

/** Long enough to settle a payment several times over. */
const maxTimeoutSeconds = 600;

export interface Price {
  readonly amount: Amount;
  readonly token: Hex;
  readonly domain: { readonly name: string; readonly version: string };
  readonly payTo: Hex;
}

export function describePrice(amount: Amount): string {
  return `${toDecimalText(amount)} ${amount.asset}`;
}

export function terms2Of({ amount, token, domain, payTo }: Price): Terms2 {
  return {
    scheme: 'exact',
    network: networkName(paymentChain, 2),
    amount: amount.atomic.toString(),
    asset: token,
    payTo,
    maxTimeoutSeconds,
    extra: { name: domain.name, version: domain.version },
  };
}

export function terms1Of(price: Price, call: Call, url: string): Terms1 {
  const { amount, network: _, ...rest } = terms2Of(price);
  return {
    ...rest,
    network: networkName(paymentChain, 1),
    maxAmountRequired: amount,
    resource: url,
    description: call.summary,
    mimeType: 'application/json',
  };
}

/** The 402 in both versions: version 2 in a header, version 1 in the body. */
export function paymentRequired(price: Price, call: Call, url: string, refused?: Reason) {
  const second = {
    x402Version: 2,
    error: refused ?? 'PAYMENT-SIGNATURE header is required',
    resource: { url, description: call.summary, mimeType: 'application/json' },
    accepts: [terms2Of(price)],
    extensions: { bazaar: describeForBazaar(call), 'payment-identifier': paymentIdentifier },
  };
  return {
    status: 402 as const,
    headers: { [headerNames[2].required]: encodeHeader(second) },
    body: {
      x402Version: 1 as const,
      error: refused ?? 'X-PAYMENT header is required',
      ...(refused !== undefined && { detail: reasons[refused] }),
      accepts: [terms1Of(price, call, url)],
    },
  };
}

/** Lets a payer name a payment, to find its answer again. */
const paymentIdentifier = {
  info: { required: false },
  schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { required: { type: 'boolean' }, id: { type: 'string', minLength: 16, maxLength: 128 } },
    required: ['required'],
  },
};

/** The extension `bazaar` describes a call to catalogues of paid endpoints. */
function describeForBazaar({ input, example, answerExample }: Call) {
  const { $schema: _, ...queryParams } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  return {
    info: {
      input: { type: 'http', method: 'GET', queryParams: example },
      output: { type: 'json', example: answerExample },
    },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        input: {
          type: 'object',
          properties: {
            type: { type: 'string', const: 'http' },
            method: { type: 'string', enum: ['GET', 'HEAD', 'DELETE'] },
            queryParams,
            headers: { type: 'object', additionalProperties: { type: 'string' } },
          },
          required: ['type', 'method'],
          additionalProperties: false,
        },
        output: {
          type: 'object',
          properties: { type: { type: 'string' }, example: { type: 'object' } },
          required: ['type'],
        },
      },
      required: ['input'],
    },
  };
}
