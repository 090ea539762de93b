import { createHmac } from 'node:crypto';
import type { Clock } from '../../../../kernel/clock.ts';
import { toDecimalText } from '../../../../money/amount.ts';
import type { Asset, ChainId } from '../../../../money/catalogue.ts';
import { cardCurrency, type OnRamp, type Purchase } from '../../on-ramp.ts';
import { readMoonPayNotice } from './moonpay-notice.ts';

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
