import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { x402Facilitator } from '@x402/core/facilitator';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator';
import { ExactEvmScheme } from '@x402/evm/exact/server';
import { paymentMiddleware, x402ResourceServer } from '@x402/express';
import { type Chain, createWalletClient, http, publicActions } from 'viem';
import { generatePrivateKey, nonceManager, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { settle, verify } from 'x402/facilitator';
import { exact } from 'x402/schemes';
import { connectLocalChains } from '../../../../sandbox/chains/local-chains.ts';
import { createNetworks } from '../../../../src/chains/network.ts';
import { freePort } from '../../../support/process.ts';
import { firstTermsOf, receiptHeader, sells, startSeller, usdc } from '../../../support/seller.ts';
import { type Service, startService, useStartedDatabase } from '../../../support/service.ts';
import { until } from '../../../support/until.ts';

// The seller's side as it comes from the registry: what it takes, others take.

/** As much of Express as is used here; it brings no types of its own. */
type Express = () => {
  use(middleware: unknown): void;
  get(path: string, handle: (request: unknown, response: { json(body: unknown): void }) => void): void;
  listen(port: number, host: string): Server;
};
const express = createRequire(import.meta.url)('express') as Express;

const database = useStartedDatabase();
const first = await startSeller();
const payTo = privateKeyToAccount(generatePrivateKey()).address;
let service: Service;
let key: string;
let port: number;
let shop: Server | undefined;

beforeAll(async () => {
  port = await freePort();
  service = await startService(database, { env: { ALLOW_PRIVATE_HOSTS: `127.0.0.1:${port},${first.host}` } });
  ({ key } = await service.client.register());
  await service.client.post('/sandbox/fund', { amount: 1 }, key);
});
afterAll(async () => {
  shop?.closeAllConnections();
  shop?.close();
  await service.stop();
});

/** Somebody who pays for the gas of what he submits. */
async function newSigner() {
  const local = await connectLocalChains(database);
  const account = privateKeyToAccount(generatePrivateKey(), { nonceManager });
  const { address } = account;
  await local.faucet.mint({ id: `gas of ${address}`, chain: 'MATIC', asset: 'MATIC', to: address, atomic: 10n ** 20n });
  const chain = createNetworks(local.settings).get('MATIC')?.client.chain as Chain;
  const transport = http(local.settings.get('MATIC')?.urls[0]);
  return createWalletClient({ account, chain, transport, pollingInterval: 20 }).extend(publicActions);
}

async function isPaid(id: string) {
  const found = await until(`${id} to be paid`, async () => {
    const { body } = await service.client.get(`/nano/purchases/${id}`, key);
    return body.status === 'pending' ? undefined : body;
  });
  expect(found).toMatchObject({ status: 'paid', error: null });
  return found;
}

test('@x402/express takes our payment, and serves', async () => {
  const client = await newSigner();
  const signer = { ...client, address: client.account.address };
  const facilitator = new x402Facilitator();
  registerExactEvmScheme(facilitator, { signer: toFacilitatorEvmSigner(signer as never), networks: 'eip155:137' });
  const server = new x402ResourceServer({
    verify: (payment, terms) => facilitator.verify(payment, terms),
    settle: (payment, terms) => facilitator.settle(payment, terms),
    getSupported: async () => facilitator.getSupported() as never,
  }).register('eip155:137', new ExactEvmScheme());
  const app = express();
  const price = { amount: '2500', asset: usdc, extra: { name: 'USD Coin', version: '2' } };
  const accepts = { scheme: 'exact', network: 'eip155:137', payTo, price, maxTimeoutSeconds: 600 } as const;
  app.use(paymentMiddleware({ 'GET /tide': { accepts, description: 'The tide' } }, server));
  app.get('/tide', (_request, response) => response.json({ high: '12:40' }));
  shop = app.listen(port, '127.0.0.1');
  await until('the shop to open', async () => (shop?.address() as AddressInfo | null) !== null);

  const { status, body } = await service.client.post(
    '/nano/pay',
    { url: `http://127.0.0.1:${port}/tide`, maxAmount: 0.01 },
    key,
  );
  expect({ status, body }).toMatchObject({
    status: 200,
    body: { status: 200, body: '{"high":"12:40"}', paid: 0.0025, payment: { payTo, receipt: { success: true } } },
  });
  expect(await isPaid(body.payment.id)).toMatchObject({ txHash: body.payment.transaction });
});

test('the first version’s own facilitator takes it too', async () => {
  const client = await newSigner();
  sells(first, firstTermsOf(first, { maxAmountRequired: '700' }), async (_payment, { headers }, response) => {
    const payment = exact.evm.decodePayment(String(headers['x-payment']));
    const [terms] = firstTermsOf(first, { maxAmountRequired: '700' }).accepts;
    const verified = await verify(client as never, payment, terms as never);
    expect(verified).toMatchObject({ isValid: true });
    const { success, transaction } = await settle(client as never, payment, terms as never);
    response.writeHead(success ? 200 : 500, receiptHeader(1, transaction)).end('first');
  });
  const { status, body } = await service.client.post('/nano/pay', { url: first.url, maxAmount: 0.01 }, key);
  expect({ status, body }).toMatchObject({ status: 200, body: { body: 'first', paid: 0.0007 } });
  expect(await isPaid(body.payment.id)).toMatchObject({ txHash: body.payment.transaction });
});
