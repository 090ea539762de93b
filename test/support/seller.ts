import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Chain, createWalletClient, type Hex, http, parseSignature } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll } from 'vitest';
import { connectLocalChains } from '../../sandbox/chains/local-chains.ts';
import { multicallAddress, tokenAbi } from '../../src/chains/abi.ts';
import { encodeSubmission } from '../../src/chains/authorization.ts';
import { createNetworks, type Network } from '../../src/chains/network.ts';
import { chains } from '../../src/money/catalogue.ts';
import type { TestDatabase } from './database.ts';

export const usdc = chains.MATIC.tokens.USDC;

/** A request as it reached the seller. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Undefined when it brings none. */
  readonly payment: BroughtPayment | undefined;
}

export interface BroughtPayment {
  readonly version: 1 | 2;
  // biome-ignore lint/suspicious/noExplicitAny: a test names the fields that it expects
  readonly content: any;
  readonly authorization: Readonly<Record<'from' | 'to' | 'value' | 'validAfter' | 'validBefore' | 'nonce', string>>;
  readonly signature: Hex;
}

export interface Seller {
  readonly url: string;
  /** For ALLOW_PRIVATE_HOSTS. */
  readonly host: string;
  readonly payTo: Hex;
  readonly asked: Asked[];
  /** What it does with a request. Leaving the response open keeps the buyer waiting. */
  answer: (asked: Asked, response: ServerResponse) => void | Promise<void>;
}

/** Somebody who sells over x402 on this machine, for as long as the test file runs. Await it at the top of the file. */
export async function startSeller(): Promise<Seller> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one: Asked = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
        payment: readPayment(request.headers),
      };
      asked.push(one);
      void seller.answer(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1' }, resolve));
  const { port } = server.address() as AddressInfo;
  const seller: Seller = {
    url: `http://127.0.0.1:${port}/paid`,
    host: `127.0.0.1:${port}`,
    payTo: privateKeyToAccount(generatePrivateKey()).address,
    asked,
    answer: (_asked, response) => void response.end('free'),
  };
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return seller;
}

function readPayment(headers: IncomingHttpHeaders): BroughtPayment | undefined {
  const [second, first] = [headers['payment-signature'], headers['x-payment']];
  const header = second ?? first;
  if (typeof header !== 'string') return undefined;
  const content = JSON.parse(Buffer.from(header, 'base64').toString('utf8'));
  return { version: second === undefined ? 1 : 2, content, ...content.payload };
}

export const base64 = (content: unknown) => Buffer.from(JSON.stringify(content)).toString('base64');

/** What the seller asks for, in the words of the second version. */
export function termsOf({ payTo, url }: Seller, change: object = {}) {
  const offer = {
    scheme: 'exact',
    network: 'eip155:137',
    amount: '10000',
    asset: usdc,
    payTo,
    maxTimeoutSeconds: 60,
    extra: { name: 'USD Coin', version: '2' },
    ...change,
  };
  return {
    x402Version: 2,
    error: 'pay',
    resource: { url, description: 'A thing', mimeType: 'text/plain' },
    accepts: [offer],
  };
}

/** The same in the words of the first. */
export function firstTermsOf({ payTo, url }: Seller, change: object = {}) {
  const offer = {
    scheme: 'exact',
    network: 'polygon',
    maxAmountRequired: '10000',
    asset: usdc,
    payTo,
    resource: url,
    description: 'A thing',
    mimeType: 'text/plain',
    maxTimeoutSeconds: 60,
    extra: { name: 'USD Coin', version: '2' },
    ...change,
  };
  return { x402Version: 1, error: 'X-PAYMENT header is required', accepts: [offer] };
}

export function demand(response: ServerResponse, terms: { x402Version: number }): void {
  if (terms.x402Version === 1) {
    response.writeHead(402, { 'content-type': 'application/json' }).end(JSON.stringify(terms));
  } else {
    response.writeHead(402, { 'payment-required': base64(terms) }).end('{}');
  }
}

/** Asks whoever brings no payment for one; what becomes of a payment is the test's. */
export function sells(
  seller: Seller,
  terms: { x402Version: number },
  take: (payment: BroughtPayment, asked: Asked, response: ServerResponse) => void | Promise<void>,
): void {
  seller.answer = (asked, response) =>
    asked.payment === undefined ? demand(response, terms) : take(asked.payment, asked, response);
}

export interface Facilitator {
  readonly network: Network;
  /** Submits these in one transaction. */
  submit(...payments: readonly BroughtPayment[]): Promise<Hex>;
  rpc(method: string, params?: readonly unknown[]): Promise<unknown>;
}

/** Somebody with an account of his own on the local Polygon, who submits what he is given. */
export async function openFacilitator(database: TestDatabase): Promise<Facilitator> {
  const local = await connectLocalChains(database);
  const network = createNetworks(local.settings).get('MATIC') as Network;
  const account = privateKeyToAccount(generatePrivateKey());
  const { client } = network;
  const wallet = createWalletClient({
    account,
    chain: client.chain as Chain,
    transport: http(local.settings.get('MATIC')?.urls[0]),
  });
  await local.faucet.mint({
    id: `gas of ${account.address}`,
    chain: 'MATIC',
    asset: 'MATIC',
    to: account.address,
    atomic: 10n ** 20n,
  });
  let last: Promise<unknown> = Promise.resolve();

  async function submit(payments: readonly BroughtPayment[]): Promise<Hex> {
    const authorizations = payments.map(({ authorization, signature }) => ({
      from: authorization.from as Hex,
      to: authorization.to as Hex,
      atomic: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
      nonce: authorization.nonce as Hex,
      signature,
    }));
    const [only] = authorizations;
    const hash =
      only !== undefined && authorizations.length === 1
        ? await wallet.writeContract({
            address: usdc,
            abi: tokenAbi,
            functionName: 'transferWithAuthorization',
            args: transferArguments(only),
          })
        : await wallet.sendTransaction({ to: multicallAddress, data: encodeSubmission(usdc, authorizations) });
    await client.waitForTransactionReceipt({ hash, pollingInterval: 20 });
    return hash;
  }

  return {
    network,
    submit(...payments) {
      const submitted = last.then(() => submit(payments));
      last = submitted.catch(() => {});
      return submitted;
    },
    rpc: (method, params = []) => client.request({ method, params } as never),
  };
}

type Signed = Parameters<typeof encodeSubmission>[1][number];

function transferArguments({ from, to, atomic, validAfter = 0n, validBefore, nonce, signature }: Signed) {
  const { r, s, yParity } = parseSignature(signature);
  return [from, to, atomic, validAfter, validBefore, nonce, yParity + 27, r, s] as const;
}

export function receiptHeader(version: 1 | 2, transaction: string, change: object = {}): Record<string, string> {
  const name = version === 2 ? 'payment-response' : 'x-payment-response';
  const network = version === 2 ? 'eip155:137' : 'polygon';
  return { [name]: base64({ success: true, transaction, network, ...change }) };
}
