import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../../../kernel/clock.ts';
import { isPublicAddress } from '../../../../kernel/outgoing/public-address.ts';
import { toDecimalText } from '../../../../money/amount.ts';
import type { Asset, ChainId } from '../../../../money/catalogue.ts';
import { cardCurrency, type OnRamp, OnRampTrouble, type Purchase } from '../../on-ramp.ts';
import { bearerToken } from './coinbase-key.ts';
import { readCoinbaseNotice } from './coinbase-notice.ts';

export interface CoinbaseOptions {
  readonly keyId: string;
  readonly key: KeyObject;
  readonly webhookSecret: string;
  readonly url: string;
  readonly clock: Clock;
  readonly timeoutMs?: number;
}

const sessionsPath = '/platform/v2/onramp/sessions';

/** A real answer has a few hundred bytes. */
const mostBytes = 100_000;

/** Coinbase's name for each chain, and the assets it sends there. */
const offered: Record<ChainId, { readonly network: string; readonly assets: readonly Asset[] } | undefined> = {
  MATIC: { network: 'polygon', assets: ['USDC'] },
  ETH: { network: 'ethereum', assets: ['USDC', 'EURC'] },
  ARB: { network: 'arbitrum', assets: ['USDC'] },
  BASE: { network: 'base', assets: ['USDC', 'EURC'] },
  AVAX: { network: 'avalanche-c-chain', assets: ['USDC'] },
  OP: { network: 'optimism', assets: ['USDC'] },
};

const answer = z.object({ session: z.object({ onrampUrl: z.url() }) });

/** Each purchase gets a session whose URL works once, for a few minutes. */
export function createCoinbaseOnRamp(options: CoinbaseOptions): OnRamp {
  return {
    name: 'coinbase',
    label: 'Coinbase',
    sells: (chain, asset) => offered[chain]?.assets.includes(asset) ?? false,
    begin: (purchase) => openSession(options, purchase),
    readNotice: (notice) => readCoinbaseNotice(notice, options),
  };
}

async function openSession(options: CoinbaseOptions, purchase: Purchase): Promise<string> {
  const { url, keyId, key, clock, timeoutMs = 10_000 } = options;
  const address = new URL(sessionsPath, url);
  const token = bearerToken({ keyId, key, method: 'POST', host: address.host, path: sessionsPath, nowMs: clock.now() });
  const response = await fetch(address, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(describe(purchase)),
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  }).catch(() => {
    throw new OnRampTrouble('Coinbase does not answer');
  });
  if (!response.ok) {
    await response.body?.cancel().catch(() => {});
    throw new OnRampTrouble(`Coinbase answered with status ${response.status}`);
  }
  const parsed = answer.safeParse(await readJson(response));
  if (!parsed.success) throw new OnRampTrouble('Coinbase sent an unexpected response');
  const { onrampUrl } = parsed.data.session;
  // A forged URL could collect people's card data.
  if (new URL(onrampUrl).protocol !== address.protocol) throw new OnRampTrouble('Coinbase returned a URL without TLS');
  return onrampUrl;
}

function describe({ reference, amount, chain, address, returnUrl, clientIp }: Purchase): Record<string, unknown> {
  return {
    purchaseCurrency: amount.asset,
    purchaseAmount: toDecimalText(amount),
    paymentCurrency: cardCurrency(amount),
    destinationNetwork: offered[chain]?.network,
    destinationAddress: address,
    partnerUserRef: reference,
    redirectUrl: returnUrl,
    // A private address says nothing about the person.
    ...(isPublicAddress(clientIp) && { clientIp }),
  };
}

async function readJson({ body }: Response): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of (body ?? []) as unknown as AsyncIterable<Uint8Array>) {
      length += chunk.length;
      if (length > mostBytes) return undefined;
      chunks.push(chunk);
    }
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}
