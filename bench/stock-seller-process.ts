import { createRequire } from 'node:module';
import { x402Facilitator } from '@x402/core/facilitator';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator';
import { ExactEvmScheme } from '@x402/evm/exact/server';
import { paymentMiddleware, x402ResourceServer } from '@x402/express';
import { createWalletClient, defineChain, type Hex, http, publicActions } from 'viem';
import { nonceManager, privateKeyToAccount } from 'viem/accounts';
import { multicallAddress } from '../src/chains/abi.ts';
import { amountOf, subtract, toJsonNumber } from '../src/money/amount.ts';
import { transferFee } from '../src/money/fees.ts';

/** As much of Express as is used here; it brings no types of its own. */
type Express = () => {
  use(middleware: unknown): void;
  get(path: string, handle: (request: unknown, response: { json(body: unknown): void }) => void): void;
  listen(port: number, host: string, done: () => void): { address(): unknown };
};
const express = createRequire(import.meta.url)('express') as Express;

/** What the stock middleware is told: the chain, who pays for its gas, and who is paid. */
export interface StockSellerOrder {
  readonly rpcUrl: string;
  readonly key: Hex;
  readonly payTo: Hex;
  readonly token: Hex;
}

/** The same call behind the stock middleware, which settles every payment before it answers. Runs as a child process. */
async function sell({ rpcUrl, key, payTo, token }: StockSellerOrder): Promise<void> {
  const chain = defineChain({
    id: 137,
    name: 'Polygon',
    nativeCurrency: { name: 'MATIC', symbol: 'MATIC', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
    contracts: { multicall3: { address: multicallAddress } },
  });
  // Without a keeper of nonces most of what is settled at once would fail.
  const account = privateKeyToAccount(key, { nonceManager });
  const client = createWalletClient({ account, chain, transport: http(rpcUrl), pollingInterval: 20 });
  const signer = { ...client.extend(publicActions), address: account.address };
  const facilitator = new x402Facilitator();
  registerExactEvmScheme(facilitator, { signer: toFacilitatorEvmSigner(signer as never), networks: 'eip155:137' });
  const server = new x402ResourceServer({
    verify: (payment, terms) => facilitator.verify(payment, terms),
    settle: (payment, terms) => facilitator.settle(payment, terms),
    getSupported: async () => facilitator.getSupported() as never,
  }).register('eip155:137', new ExactEvmScheme());

  const app = express();
  const price = { amount: '100', asset: token, extra: { name: 'USD Coin', version: '2' } };
  const accepts = { scheme: 'exact', network: 'eip155:137', payTo, price, maxTimeoutSeconds: 600 } as const;
  app.use(paymentMiddleware({ 'GET /quote': { accepts, description: 'A quote' } }, server));
  app.get('/quote', (_request, response) => {
    const amount = amountOf('USDC', 50_000_000n);
    const fee = transferFee(amount);
    const net = toJsonNumber(subtract(amount, fee));
    response.json({ action: 'transfer', amount: toJsonNumber(amount), fee: toJsonNumber(fee), net, currency: 'USDC' });
  });
  const listening = app.listen(0, '127.0.0.1', () => {
    process.send?.({ port: (listening.address() as { readonly port: number }).port });
  });
}

process.once('message', (order: StockSellerOrder) => void sell(order));
process.on('disconnect', () => process.exit());
