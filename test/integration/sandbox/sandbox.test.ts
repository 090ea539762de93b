import { createPublicClient, createWalletClient, defineChain, http } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { describe, expect, test } from 'vitest';
import { connectLocalChains } from '../../../sandbox/chains/local-chains.ts';
import { fundRoute } from '../../../sandbox/fund-route.ts';
import { sandboxSecret } from '../../../sandbox/secret.ts';
import { tokenAbi } from '../../../src/chains/abi.ts';
import { createSecrets } from '../../../src/kernel/secrets/secrets.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { chainIds, chains } from '../../../src/money/catalogue.ts';
import { cctpAbi } from '../../support/cctp.ts';
import type { TestAccount } from '../../support/client.ts';
import { useService } from '../../support/service.ts';

const service = useService();

interface SandboxChain {
  readonly id: string;
  readonly chainId: number;
  readonly rpcUrl: string;
  readonly tokens: Readonly<Record<string, `0x${string}`>>;
  readonly cctp: Readonly<Record<'tokenMessenger' | 'messageTransmitter' | 'tokenMinter', `0x${string}`>> & {
    readonly attesters: readonly `0x${string}`[];
  };
  readonly uniswap?: Readonly<Record<'factory' | 'quoter' | 'router', `0x${string}`>>;
}

async function sandboxChain(id: string): Promise<SandboxChain> {
  const { body } = await service.client.get('/sandbox');
  return body.chains.find((chain: SandboxChain) => chain.id === id);
}

const balanceOf = async ({ key }: TestAccount) => (await service.client.get('/circle/balance', key)).body;

const fund = (account: TestAccount, body: object, idempotencyKey?: string) =>
  service.client.request('POST', '/sandbox/fund', {
    key: account.key,
    body,
    headers: { ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }) },
  });

const faucet = (body: object, headers: Record<string, string> = {}) =>
  service.client.request('POST', '/sandbox/faucet', { body, headers });

test('anybody sees the chains and what is on them', async () => {
  const { status, body } = await service.client.get('/sandbox');
  expect(status).toBe(200);
  expect(body.chains.map(({ id, chainId }: SandboxChain) => [id, chainId])).toEqual(
    chainIds.map((id) => [id, chains[id].chainId]),
  );
  expect(Object.keys((await sandboxChain('MATIC')).tokens).sort()).toEqual(['DAI', 'EURC', 'USDC', 'WETH', 'WMATIC']);
  expect(body.chains.map(({ uniswap }: SandboxChain) => uniswap)).toEqual(
    chainIds.map((id) =>
      id === 'MATIC'
        ? {
            factory: '0x1F98431c8aD98523631AE4a59f267346ea31F984',
            quoter: '0x61fFE014bA17989E743c5F6cB21bF9697530B21e',
            router: '0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45',
          }
        : undefined,
    ),
  );
  for (const { chainId, rpcUrl, tokens } of body.chains) {
    const client = createPublicClient({ transport: http(rpcUrl) });
    expect(await client.getChainId()).toBe(chainId);
    expect(await client.readContract({ abi: tokenAbi, address: tokens.USDC, functionName: 'name' })).toBe('USD Coin');
  }
});

test('anybody sees the cross-chain protocol, and who attests', async () => {
  const { body } = await service.client.get('/sandbox');
  const answer = await fetch(new URL('/v2/publicKeys', body.attestationUrl));
  const keys = (await answer.json()) as { publicKeys: unknown[] };
  for (const { rpcUrl, cctp } of body.chains as SandboxChain[]) {
    const client = createPublicClient({ transport: http(rpcUrl) });
    const { tokenMessenger, messageTransmitter, tokenMinter, attesters } = cctp;
    const ask = (address: `0x${string}`, functionName: string, args: readonly unknown[] = []) =>
      client.readContract({ abi: cctpAbi, address, functionName, args } as never);
    expect(await ask(tokenMessenger, 'localMessageTransmitter')).toBe(messageTransmitter);
    expect(await ask(tokenMessenger, 'localMinter')).toBe(tokenMinter);
    expect(attesters).toEqual([
      await ask(messageTransmitter, 'getEnabledAttester', [0n]),
      await ask(messageTransmitter, 'getEnabledAttester', [1n]),
    ]);
    expect(keys.publicKeys).toHaveLength(attesters.length);
  }
});

describe('funding oneself', () => {
  test('takes the way of a real deposit', async () => {
    const ada = await service.client.register();
    const { status, body } = await fund(ada, { amount: 12.345678, currency: 'USDC' });
    expect(status).toBe(200);
    expect(body).toEqual({
      txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      transferId: expect.stringMatching(/^trf_[0-9a-z]{26}$/),
      amount: 12.345678,
      currency: 'USDC',
    });
    expect(await balanceOf(ada)).toMatchObject({ USDC: '12.345678', EURC: '0' });
    const client = createPublicClient({ transport: http((await sandboxChain('MATIC')).rpcUrl) });
    expect((await client.getTransactionReceipt({ hash: body.txHash })).status).toBe('success');
    const history = (await service.client.get('/circle/transfers', ada.key)).body.transfers;
    expect(history).toEqual([
      expect.objectContaining({
        transferId: body.transferId,
        type: 'deposit',
        direction: 'received',
        amount: 12.345678,
      }),
    ]);
  });

  test('works for EURC too, and USDC goes without saying', async () => {
    const ada = await service.client.register();
    expect((await fund(ada, { amount: 3, currency: 'EURC' })).status).toBe(200);
    expect((await fund(ada, { amount: 4 })).body.currency).toBe('USDC');
    expect(await balanceOf(ada)).toMatchObject({ USDC: '4', EURC: '3' });
  });

  test('with an Idempotency-Key mints once and answers the same', async () => {
    const ada = await service.client.register();
    const replies = await Promise.all(Array.from({ length: 5 }, () => fund(ada, { amount: 10 }, 'k')));
    expect(new Set(replies.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1);
    const again = await fund(ada, { amount: 10 }, 'k');
    expect([again.status, again.body]).toEqual([200, replies[0]?.body]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(await balanceOf(ada)).toMatchObject({ USDC: '10' });
    for (const other of [{ amount: 11 }, { amount: 10, currency: 'EURC' }]) {
      const { status, body } = await fund(ada, other, 'k');
      expect([status, body.code]).toEqual([422, 'idempotency_mismatch']);
    }
    const grace = await service.client.register();
    expect((await fund(grace, { amount: 11 }, 'k')).status).toBe(200);
  });

  test('without a key funds as often as asked', async () => {
    const ada = await service.client.register();
    await Promise.all(Array.from({ length: 10 }, () => fund(ada, { amount: 1 })));
    expect(await balanceOf(ada)).toMatchObject({ USDC: '10' });
  });

  test.each([
    [{ amount: 0 }, 'amount'],
    [{ amount: -1 }, 'amount'],
    [{ amount: 0.0000001 }, 'amount'],
    [{ amount: '5,0' }, 'amount'],
    [{}, 'amount'],
    [{ amount: 1, currency: 'AVAX' }, 'currency'],
    [{ amount: '-1', currency: 'EURC' }, 'amount'],
    [{ amount: '1e3', currency: 'DAI' }, 'amount'],
    [{ amount: 1, chain: 'ETH' }, 'chain'],
  ])('%j is refused', async (body, path) => {
    const reply = await fund(await service.client.register(), body);
    expect([reply.status, reply.body.code, reply.body.errors[0].path]).toEqual([400, 'invalid_request', path]);
  });

  test('says that the money is on its way when it takes too long, and does not send it twice', async () => {
    const ada = await service.client.register();
    const { db } = service.database;
    const { rows } = await db.query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [ada.handle]);
    const impatient = fundRoute({ db, chains: await connectLocalChains({ db }), creditedWithinMs: 0 });
    const body = { amount: 5, currency: 'USDC' };
    const content = JSON.stringify([impatient.spec.id, {}, body]);
    const request = {
      caller: { accountId: rows[0]?.id },
      body,
      idempotency: { key: 'late', requestHash: createSecrets(await sandboxSecret(db)).digest(content) },
    };
    await expect(impatient.handle(request)).rejects.toMatchObject({
      status: 503,
      code: 'unavailable',
      message: expect.stringContaining('is not credited yet'),
    });
    expect((await fund(ada, { amount: 5 }, 'late')).status).toBe(200);
    expect(await balanceOf(ada)).toMatchObject({ USDC: '5' });
  });

  test('needs a key', async () => {
    expect((await service.client.post('/sandbox/fund', { amount: 1 })).status).toBe(401);
  });
});

describe('the faucet', () => {
  test('gives anybody what they need to use a wallet of their own', async () => {
    const account = privateKeyToAccount(generatePrivateKey());
    const { address } = account;
    for (const [currency, amount] of [
      ['USDC', 25.5],
      ['MATIC', 1],
    ] as const) {
      const { status, body } = await faucet({ address, chain: 'MATIC', currency, amount });
      expect(status).toBe(200);
      expect(body).toEqual({
        txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        address,
        chain: 'MATIC',
        currency,
        amount,
      });
    }
    const { rpcUrl, tokens } = await sandboxChain('MATIC');
    const chain = defineChain({
      id: 137,
      name: 'Polygon',
      nativeCurrency: { name: 'MATIC', symbol: 'MATIC', decimals: 18 },
      rpcUrls: { default: { http: [rpcUrl] } },
    });
    const ada = await service.client.register();
    const { rows } = await service.database.db.query<{ address: `0x${string}` }>(
      "SELECT w.address FROM wallets w JOIN accounts a ON a.id = w.account_id WHERE a.handle = $1 AND chain = 'MATIC'",
      [ada.handle],
    );
    await createWalletClient({ account, chain, transport: http() }).writeContract({
      abi: tokenAbi,
      address: tokens['USDC'] ?? '0x',
      functionName: 'transfer',
      args: [rows[0]?.address ?? '0x', 25_500_000n],
    });
    await expect.poll(() => balanceOf(ada)).toMatchObject({ USDC: '25.5' });
  });

  test('gives MATIC as gas and as a token, and they are two things', async () => {
    const { address } = privateKeyToAccount(generatePrivateKey());
    const { rpcUrl, tokens } = await sandboxChain('MATIC');
    expect((await faucet({ address, chain: 'MATIC', currency: 'MATIC', amount: 0.25 })).status).toBe(200);
    const { status, body } = await faucet({ address, chain: 'MATIC', currency: 'WMATIC', amount: 1.5 });
    expect([status, body.currency, body.amount]).toEqual([200, 'WMATIC', 1.5]);
    const client = createPublicClient({ transport: http(rpcUrl) });
    const wrapped = {
      abi: tokenAbi,
      address: tokens['WMATIC'] ?? '0x',
      functionName: 'balanceOf',
      args: [address],
    } as const;
    expect([await client.getBalance({ address }), await client.readContract(wrapped)]).toEqual([
      250_000_000_000_000_000n,
      1_500_000_000_000_000_000n,
    ]);
  });

  test('with an Idempotency-Key pays once', async () => {
    const { address } = privateKeyToAccount(generatePrivateKey());
    const body = { address, chain: 'AVAX', currency: 'AVAX', amount: 0.25 };
    const [first, second] = [
      await faucet(body, { 'idempotency-key': 'k' }),
      await faucet(body, { 'idempotency-key': 'k' }),
    ];
    expect([second.status, second.body]).toEqual([200, first.body]);
    const other = await faucet({ ...body, amount: 1 }, { 'idempotency-key': 'k' });
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_mismatch']);
    const client = createPublicClient({ transport: http((await sandboxChain('AVAX')).rpcUrl) });
    expect(await client.getBalance({ address })).toBe(250_000_000_000_000_000n);
  });

  const right = { address: '0x90F79bf6EB2c4f870365E785982E1f101E93b906', chain: 'MATIC', currency: 'USDC', amount: 1 };
  test.each([
    [{ ...right, address: '0x90f79bf6EB2c4f870365E785982E1f101E93b906' }, 'address'],
    [{ ...right, address: '0x1' }, 'address'],
    [{ ...right, address: 5 }, 'address'],
    [{ ...right, address: `0x${'0'.repeat(40)}` }, 'address'],
    [{ ...right, address: chains.MATIC.tokens.USDC }, 'address'],
    [{ ...right, chain: 'DOGE' }, 'chain'],
    [{ ...right, chain: 'ARB', currency: 'DAI' }, 'currency'],
    [{ ...right, chain: 'ETH', currency: 'MATIC' }, 'currency'],
    [{ ...right, currency: 'WETH' }, 'currency'],
    [{ ...right, chain: 'ETH', currency: 'WMATIC' }, 'currency'],
    [{ ...right, currency: 'WMATIC', amount: 1e-19 }, 'amount'],
    [{ ...right, amount: 0.0000001 }, 'amount'],
    [{ ...right, amount: 1e12 }, 'amount'],
    [{ ...right, amount: '1e3' }, 'amount'],
    [{ ...right, more: 1 }, 'more'],
  ])('%j is refused', async (body, path) => {
    const reply = await faucet(body);
    expect([reply.status, reply.body.code, reply.body.errors[0].path]).toEqual([400, 'invalid_request', path]);
  });
});

test('after all that the ledger is sound', async () => {
  expect((await verifyLedger(service.database.db)).problems).toEqual([]);
});

test('the demo shop’s merchant sees its sales and refunds them', async () => {
  const buyer = await service.client.register();
  await fund(buyer, { amount: 100 });
  const order = {
    website: 'demo-shop.example',
    productTitle: 'Stoneware Mug, Sea',
    productBrand: 'Alder Pottery',
    amount: 24,
    paymentMethod: 'usdc',
    shippingAddress: 'Ada, 1 Main St, 94105 San Francisco, US',
  };
  const { body: bought } = await service.client.post('/shopping/buy', order, buyer.key);
  expect(bought).toMatchObject({ status: 'completed' });
  const { demoShop } = (await service.client.get('/sandbox')).body;
  const refund = { amount: 10, reason: 'It arrived chipped.' };
  const path = `/shopping/sales/${bought.orderId}`;
  expect(await service.client.post(`${path}/refund`, refund, demoShop.merchantKey)).toMatchObject({
    status: 200,
    body: { amount: 10 },
  });
  expect((await service.client.get(path, demoShop.merchantKey)).body).toMatchObject({ refundedAmount: 10 });
});
