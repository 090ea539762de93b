import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../../../kernel/clock.ts';
import { parseJsonBody } from '../../../../kernel/http/parse-body.ts';
import { expandExponent, toDecimalText } from '../../../../money/amount.ts';
import type { Asset, ChainId } from '../../../../money/catalogue.ts';
import {
  type CardState,
  type CardUpdate,
  cardCurrency,
  type Notice,
  type OnRamp,
  type Purchase,
} from '../../on-ramp.ts';
import { plainReason, readSignatureHeader, requireFresh, requireHmac } from '../signatures.ts';

const notice = z.object({
  type: z.enum(['transaction_created', 'transaction_updated', 'transaction_failed']),
  data: z.object({
    id: z.string().min(1).max(200),
    status: z.string(),
    externalTransactionId: z.string().max(64),
    quoteCurrencyAmount: z.number().nullish(),
    currency: z.object({ code: z.string() }).nullish(),
    walletAddress: z.string().nullish(),
    failureReason: z.string().nullish(),
  }),
});

/** The signature covers the time and the body. Undefined when the notice is not about a payment that we started. */
function readMoonPayNotice(
  { bytes, headers }: Notice,
  { webhookKey, clock }: { readonly webhookKey: string; readonly clock: Clock },
): CardUpdate | undefined {
  const parts = readSignatureHeader(headers, 'moonpay-signature-v2');
  const time = parts.get('t');
  requireHmac(webhookKey, [`${time}.`, bytes], parts.get('s'));
  requireFresh(clock, time);

  const parsed = notice.safeParse(parseJsonBody(bytes));
  if (!parsed.success) return undefined;
  const { id, externalTransactionId, quoteCurrencyAmount, currency, walletAddress, failureReason } = parsed.data.data;
  const state = stateOf(parsed.data.data.status);
  return {
    reference: externalTransactionId,
    paymentId: id,
    state,
    amount: typeof quoteCurrencyAmount === 'number' ? expandExponent(String(quoteCurrencyAmount)) : undefined,
    asset: currency?.code.split('_')[0]?.toUpperCase(),
    address: walletAddress ?? undefined,
    ...(state === 'failed' && { reason: plainReason(failureReason) }),
  };
}

function stateOf(status: string): CardState {
  if (status === 'completed') return 'sent';
  return status === 'failed' ? 'failed' : 'pending';
}

export interface MoonPayOptions {
  /** The publishable key; every purchase URL contains it. */
  readonly apiKey: string;
  readonly secretKey: string;
  readonly webhookKey: string;
  readonly url: string;
  readonly clock: Clock;
}

/** MoonPay's code for each asset and chain that it sends to. */
const currencyCodes: Record<ChainId, Partial<Record<Asset, string>> | undefined> = {
  MATIC: { USDC: 'usdc_polygon' },
  ETH: { USDC: 'usdc' },
  ARB: { USDC: 'usdc_arbitrum' },
  BASE: { USDC: 'usdc_base' },
  AVAX: undefined,
  OP: { USDC: 'usdc_optimism' },
};

/** MoonPay needs no request: the URL holds the whole purchase, and the signature protects the destination address. */
export function createMoonPayOnRamp(options: MoonPayOptions): OnRamp {
  return {
    name: 'moonpay',
    label: 'MoonPay',
    sells: (chain, asset) => currencyCodes[chain]?.[asset] !== undefined,
    begin: async (purchase) => signedUrl(options, purchase),
    readNotice: (notice) => readMoonPayNotice(notice, options),
  };
}

function signedUrl({ url, apiKey, secretKey }: MoonPayOptions, purchase: Purchase): string {
  const { reference, amount, chain, address, returnUrl } = purchase;
  const query = `?${new URLSearchParams({
    apiKey,
    currencyCode: currencyCodes[chain]?.[amount.asset] ?? '',
    walletAddress: address,
    quoteCurrencyAmount: toDecimalText(amount),
    baseCurrencyCode: cardCurrency(amount).toLowerCase(),
    lockAmount: 'true',
    externalTransactionId: reference,
    redirectURL: returnUrl,
  })}`;
  const signature = createHmac('sha256', secretKey).update(query).digest('base64');
  return `${url.replace(/\/+$/, '')}/${query}&signature=${encodeURIComponent(signature)}`;
}
