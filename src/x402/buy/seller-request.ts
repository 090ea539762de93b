import { z } from 'zod';
import { amountField, requireAmount } from '../../kernel/http/amount-field.ts';
import type { Caller, IdempotencyClaim } from '../../kernel/http/define-route.ts';
import { type DuplicateGuard, notDuplicateOf } from '../../kernel/http/duplicate-guard.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { type Amount, amountOf, toJsonNumber } from '../../money/amount.ts';
import { note } from '../../policies/approvals/asks.ts';
import { methods, type SellerRequest } from './ask-seller.ts';
import { purchaseErrors } from './errors.ts';
import { isForSellers } from './seller-headers.ts';

const limits = { headers: 30, nameChars: 100, allChars: 8_192 } as const;

export const payBody = z.strictObject({
  url: z.string().max(2_048).meta({ description: 'The URL of the paid endpoint, including its query.' }),
  method: z.enum(methods).default('GET'),
  body: z
    .union([z.string(), z.record(z.string(), z.unknown()), z.array(z.unknown())], {
      error: 'must be a string, an object or an array',
    })
    .optional()
    .meta({ description: 'A string is sent unchanged, anything else as JSON.' }),
  headers: z
    .record(z.string(), z.string())
    .default({})
    .meta({
      description: `Up to ${limits.headers} headers for the seller. No header of your own request is forwarded. Allowed are common content headers (Accept, Content-Type, Range, If-None-Match, …), Authorization, names that end in -Key, -Token or -Version, and names that begin with X- unless they concern addresses, proxies, users or methods.`,
    }),
  maxAmount: amountField.meta({
    description:
      'The most you are willing to pay, in USDC, as a number or decimal string. If the seller asks for more, nothing is paid.',
  }),
  note,
  notDuplicateOf,
});
export type PayBody = z.output<typeof payBody>;

export interface Buying {
  readonly caller: Caller;
  /** The caller's IP address. */
  readonly ip: string;
  readonly idempotency: IdempotencyClaim | undefined;
  readonly guard: DuplicateGuard | undefined;
  readonly request: SellerRequest;
  readonly maximum: Amount;
}

export function readRequest({ url, method, headers, body }: PayBody): SellerRequest {
  if (method === 'GET' && body !== undefined) throw refused('body', 'must be omitted with GET');
  const checked = checkHeaders(headers);
  if (body === undefined) return { method, url, headers: checked };
  const isJson = typeof body !== 'string';
  return {
    method,
    url,
    headers: isJson ? { 'content-type': 'application/json', ...checked } : checked,
    body: isJson ? JSON.stringify(body) : body,
  };
}

export function readMaximum({ maxAmount }: Pick<PayBody, 'maxAmount'>): Amount {
  return requireAmount('USDC', maxAmount, 'maxAmount');
}

/** In lower case, to find duplicates. */
function checkHeaders(given: Readonly<Record<string, string>>): Record<string, string> {
  const headers = Object.entries(given);
  if (headers.length > limits.headers) throw refused('headers', `must be at most ${limits.headers}`);
  const checked: Record<string, string> = {};
  let chars = 0;
  for (const [written, value] of headers) {
    const name = written.toLowerCase();
    const path = `headers.${written}`.slice(0, 120);
    // Many servers treat `_` like `-`, so one header name could pass as another.
    if (name.length > limits.nameChars || !/^[0-9a-z]+(?:-[0-9a-z]+)*$/.test(name)) {
      throw refused(path, 'must be a header name of letters, digits and single dashes');
    }
    if (!isForSellers(name)) throw refused(path, 'is a header that cannot be set');
    if (!/^[\t\x20-\x7e]*$/.test(value)) throw refused(path, 'must be one line of printable ASCII characters');
    if (Object.hasOwn(checked, name)) throw refused(path, 'must be given only once');
    chars += name.length + value.length;
    checked[name] = value;
  }
  if (chars > limits.allChars) throw refused('headers', `must have at most ${limits.allChars} characters together`);
  return checked;
}

function refused(path: string, message: string) {
  return httpErrors.invalid_request(`${path} ${message}.`, { errors: [{ path, message }] });
}

export function refuseAbove(maximum: Amount, price: Amount, fee: Amount = amountOf(price.asset, 0n)): void {
  if (price.atomic + fee.atomic <= maximum.atomic) return;
  const told = { price: toJsonNumber(price), currency: price.asset, maxAmount: toJsonNumber(maximum) };
  const withFee = fee.atomic === 0n ? '' : ` With our fee of ${toJsonNumber(fee)} ${told.currency} that`;
  throw purchaseErrors.price_above_maximum(
    withFee === ''
      ? `The seller asks for ${told.price} ${told.currency}, which exceeds maxAmount. Nothing was paid.`
      : `The seller asks for ${told.price} ${told.currency}.${withFee} exceeds maxAmount. Nothing was paid.`,
    { members: { ...told, ...(fee.atomic > 0n && { fee: toJsonNumber(fee) }) } },
  );
}
