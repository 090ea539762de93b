import { createPrivateKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../../../kernel/clock.ts';
import { parseJsonBody } from '../../../../kernel/http/parse-body.ts';
import { askProvider, type ProviderReply } from '../../../../kernel/outgoing/ask-provider.ts';
import { isPublicAddress } from '../../../../kernel/outgoing/public-address.ts';
import { toDecimalText } from '../../../../money/amount.ts';
import type { Asset, ChainId } from '../../../../money/catalogue.ts';
import {
  type CardState,
  type CardUpdate,
  cardCurrency,
  InvalidSignature,
  type Notice,
  type OnRamp,
  OnRampTrouble,
  type Purchase,
} from '../../on-ramp.ts';
import { plainReason, readSignatureHeader, requireFresh, requireHmac } from '../signatures.ts';

const amount = z.union([
  z.string().transform((value) => ({ value, currency: undefined })),
  z.object({ value: z.string(), currency: z.string().optional() }),
]);

const transaction = z.object({
  eventType: z.string(),
  transactionId: z.string().min(1).max(200),
  partnerUserRef: z.string().max(64),
  purchaseCurrency: z.string().optional(),
  purchaseAmount: amount.optional(),
  walletAddress: z.string().optional(),
  failureReason: z.string().nullish(),
});

const states: Readonly<Record<string, CardState>> = {
  'onramp.transaction.created': 'pending',
  'onramp.transaction.updated': 'pending',
  'onramp.transaction.success': 'sent',
  'onramp.transaction.failed': 'failed',
};

/** The signature covers the time, the named headers and the body. Undefined when it is not about a payment. */
function readCoinbaseNotice(
  { bytes, headers }: Notice,
  { webhookSecret, clock }: { readonly webhookSecret: string; readonly clock: Clock },
): CardUpdate | undefined {
  const parts = readSignatureHeader(headers, 'x-hook0-signature');
  const [time, names] = [parts.get('t'), parts.get('h')];
  if (names === undefined) throw new InvalidSignature('the list of signed headers is missing');
  const values = names.split(' ').map((name) => headers[name.toLowerCase()] ?? '');
  requireHmac(webhookSecret, [`${time}.${names}.${values.join('.')}.`, bytes], parts.get('v1'));
  requireFresh(clock, time);

  const parsed = transaction.safeParse(parseJsonBody(bytes));
  const state = parsed.success ? states[parsed.data.eventType] : undefined;
  if (!parsed.success || state === undefined) return undefined;
  const { partnerUserRef, transactionId, purchaseAmount, purchaseCurrency, walletAddress, failureReason } = parsed.data;
  return {
    reference: partnerUserRef,
    paymentId: transactionId,
    state,
    amount: purchaseAmount?.value,
    asset: purchaseCurrency?.toUpperCase(),
    address: walletAddress,
    ...(state === 'failed' && { reason: plainReason(failureReason) }),
  };
}

/** Coinbase issues keys in two forms. Undefined when the text is neither. */
export function readCoinbaseKey(text: string): KeyObject | undefined {
  try {
    // Environment variables often hold the line breaks of a PEM file as \n.
    if (text.includes('-----BEGIN')) return onlyP256(createPrivateKey(text.replaceAll('\\n', '\n')));
    const bytes = Buffer.from(text, 'base64');
    if (bytes.length !== 64) return undefined;
    const part = (from: number) => bytes.subarray(from, from + 32).toString('base64url');
    return createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d: part(0), x: part(32) }, format: 'jwk' });
  } catch {
    return undefined;
  }
}

function onlyP256(key: KeyObject): KeyObject | undefined {
  return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined;
}

interface TokenFor {
  readonly keyId: string;
  readonly key: KeyObject;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly nowMs: number;
}

const validSeconds = 120;

function bearerToken({ keyId, key, method, host, path, nowMs }: TokenFor): string {
  const isEd25519 = key.asymmetricKeyType === 'ed25519';
  const now = Math.floor(nowMs / 1_000);
  const head = { alg: isEd25519 ? 'EdDSA' : 'ES256', typ: 'JWT', kid: keyId, nonce: randomBytes(16).toString('hex') };
  const claims = {
    sub: keyId,
    iss: 'cdp',
    iat: now,
    nbf: now,
    exp: now + validSeconds,
    uris: [`${method} ${host}${path}`],
  };
  const content = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const signature = isEd25519
    ? sign(null, Buffer.from(content), key)
    : sign('sha256', Buffer.from(content), { key, dsaEncoding: 'ieee-p1363' });
  return `${content}.${signature.toString('base64url')}`;
}

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
  const reply = await askProvider(address, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(describe(purchase)),
    timeoutMs,
    mostBytes,
  }).catch(() => {
    throw new OnRampTrouble('Coinbase does not answer');
  });
  if (reply.status < 200 || reply.status > 299) {
    reply.drop();
    throw new OnRampTrouble(`Coinbase answered with status ${reply.status}`);
  }
  const parsed = answer.safeParse(await readJson(reply));
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

async function readJson(reply: ProviderReply): Promise<unknown> {
  try {
    return JSON.parse(await reply.text());
  } catch {
    return undefined;
  }
}
