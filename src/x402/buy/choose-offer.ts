import { isUtf8 } from 'node:buffer';
import { getAddress, type Hex, isAddress, isAddressEqual, zeroAddress } from 'viem';
import { type Parser, ParserError } from '../../kernel/parser/parser.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import { readJson } from '../../shopping/search/tasks.ts';
import { decodeHeader, headerNames } from '../wire/header.ts';
import { chainOfNetwork, type Terms1, type Terms2, terms1, terms2, type X402Version } from '../wire/messages.ts';
import type { SellerAnswer } from './ask-seller.ts';

type Json = Readonly<Record<string, unknown>>;

/** The seller's terms verbatim, because the payment must repeat the accepted ones unchanged. */
interface Demand extends Omit<AcceptedTerms, 'accepted'> {
  readonly version: X402Version;
  readonly offers: readonly Json[];
}

export interface AcceptedTerms {
  readonly accepted: Json;
  readonly resource?: unknown;
  readonly extensions?: unknown;
}

export interface Offer {
  readonly version: X402Version;
  readonly price: Amount;
  readonly payTo: Hex;
  /** How long the seller wants the authorization to be valid. */
  readonly seconds: number;
  readonly terms: AcceptedTerms;
}

const mostOffers = 50;
/** Accepted terms are stored for good and sent back in a header. */
const longestOffer = 16_384;

/** Version 2 puts the terms into a header, version 1 into the body. Undefined when there are none. */
export async function readDemand(
  parser: Parser,
  { headers, body }: Pick<SellerAnswer, 'headers' | 'body'>,
): Promise<Demand | undefined> {
  const header = headers[headerNames[2].required];
  const second = typeof header === 'string' ? toDemand(decodeHeader(header), 2) : undefined;
  return second ?? toDemand(await parseBody(parser, body), 1);
}

function toDemand(said: unknown, version: X402Version): Demand | undefined {
  if (!isRecord(said) || said['x402Version'] !== version || !Array.isArray(said['accepts'])) return undefined;
  const { accepts, resource, extensions } = said;
  const offers = (accepts as unknown[])
    .slice(0, mostOffers)
    .filter(isRecord)
    .filter((offer) => JSON.stringify(offer).length <= longestOffer);
  return {
    version,
    offers,
    ...(version === 2 && resource !== undefined && { resource }),
    ...(version === 2 && isRecord(extensions) && { extensions }),
  };
}

async function parseBody(parser: Parser, body: Buffer): Promise<unknown> {
  if (!isUtf8(body)) return undefined;
  return parser.run(readJson, { bytes: body, type: 'application/json; charset=utf-8' }).catch((error: unknown) => {
    if (error instanceof ParserError) return undefined;
    throw error;
  });
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Means {
  /** USDC on the home chain. */
  readonly token: Hex;
  /** In lower case. A payment to our own wallet would go nowhere. */
  readonly house: ReadonlySet<string>;
}

/** The cheapest payable offer: an exact amount of USDC on the home chain, paid by signature, to an external address. */
export function chooseOffer(demand: Demand, means: Means): Offer | undefined {
  const payable = demand.offers.flatMap((offer) => toOffer(demand, offer, means) ?? []);
  return payable.reduce<Offer | undefined>(
    (best, offer) => (best === undefined || offer.price.atomic < best.price.atomic ? offer : best),
    undefined,
  );
}

function toOffer(demand: Demand, accepted: Json, { token, house }: Means): Offer | undefined {
  const { version } = demand;
  const read = version === 2 ? terms2.safeParse(accepted) : terms1.safeParse(accepted);
  if (!read.success) return undefined;
  const { scheme, network, asset, payTo, maxTimeoutSeconds, extra } = read.data;
  if (scheme !== 'exact' || chainOfNetwork(network, version) !== homeChain) return undefined;
  if (!isAddress(asset, { strict: false }) || !isAddressEqual(asset, token)) return undefined;
  // We sign only EIP-3009 authorizations.
  if ((extra?.['assetTransferMethod'] ?? 'eip3009') !== 'eip3009') return undefined;
  if (!isAddress(payTo, { strict: false }) || isAddressEqual(payTo, zeroAddress) || isAddressEqual(payTo, token)) {
    return undefined;
  }
  if (house.has(payTo.toLowerCase())) return undefined;
  const atomic = BigInt(priceOf(read.data));
  if (atomic === 0n || atomic > mostAtomic) return undefined;
  const { resource, extensions } = demand;
  return {
    version,
    price: amountOf('USDC', atomic),
    payTo: getAddress(payTo.toLowerCase()),
    seconds: maxTimeoutSeconds,
    terms: {
      accepted,
      ...(resource !== undefined && { resource }),
      ...(extensions !== undefined && { extensions }),
    },
  };
}

/** JSON numbers are exact below this. */
const mostAtomic = 900_000_000_000_000n;

function priceOf(terms: Terms1 | Terms2): string {
  return 'amount' in terms ? terms.amount : terms.maxAmountRequired;
}

/** Goes into the error when no offer is payable. */
export function describeOffers({ offers }: Demand): Record<string, string>[] {
  const text = (value: unknown) => (typeof value === 'string' ? value.slice(0, 100) : '');
  return offers.slice(0, 10).map((offer) => ({
    scheme: text(offer['scheme']),
    network: text(offer['network']),
    asset: text(offer['asset']),
    amount: text(offer['amount'] ?? offer['maxAmountRequired']),
    payTo: text(offer['payTo']),
  }));
}
