import { toClientEvmSigner } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { createWalletClient, http } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { polygon } from 'viem/chains';
import { beforeAll, describe, expect, test } from 'vitest';
import { decodeXPaymentResponse, wrapFetchWithPayment as wrapFirst } from 'x402-fetch';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { openShopfront, type Shopfront } from '../../../support/nano.ts';
import { useService } from '../../../support/service.ts';
import { until } from '../../../support/until.ts';

// The clients that people use, as they come from the registry.
const service = useService({ settings: { nano: { settleSeconds: 1 } } });
let shop: Shopfront;
let handle: string;
beforeAll(async () => {
  shop = await openShopfront(service.database);
  ({ handle } = await service.client.register());
});

function second(payer: PrivateKeyAccount): typeof fetch {
  const client = new x402Client().register('eip155:137', new ExactEvmScheme(toClientEvmSigner(payer)));
  return wrapFetchWithPayment(fetch, client) as typeof fetch;
}

function first(payer: PrivateKeyAccount): typeof fetch {
  const wallet = createWalletClient({ account: payer, chain: polygon, transport: http('http://127.0.0.1:1') });
  return wrapFirst(fetch, wallet as never) as typeof fetch;
}

const readers = {
  '@x402/fetch': (headers: Headers) => decodePaymentResponseHeader(headers.get('PAYMENT-RESPONSE') ?? ''),
  'x402-fetch': (headers: Headers) => decodeXPaymentResponse(headers.get('X-PAYMENT-RESPONSE') ?? ''),
};

describe.each([
  ['@x402/fetch', second],
  ['x402-fetch', first],
] as const)('%s', (name, wrap) => {
  test('pays all three, and the treasury holds the sum to the last unit', async () => {
    const payer = await shop.payer(10_000n);
    const treasury = await houseWallet(service.database.db, 'treasury', 'MATIC');
    const before = await shop.held(treasury.address);
    const paying = wrap(payer);
    const answers = [];
    for (const path of [
      '/nano/search?q=mug&website=demo-shop.example',
      `/nano/lookup?handle=${handle}`,
      '/nano/quote?amount=50&currency=USDC&action=transfer',
    ]) {
      const reply = await paying(`${service.url}/api${path}`);
      expect(reply.status).toBe(200);
      expect(readers[name](reply.headers)).toMatchObject({ success: true, payer: payer.address });
      answers.push(await reply.json());
    }
    expect(answers).toMatchObject([{ products: expect.any(Array) }, { found: true, handle }, { fee: 0.75 }]);
    await until('all to be settled', async () => (await shop.held(treasury.address)) - before === 1_200n);
    expect(await shop.held(payer.address)).toBe(8_800n);
  });
});
