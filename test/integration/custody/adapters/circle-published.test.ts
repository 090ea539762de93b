import { randomUUID } from 'node:crypto';
import { encodeFunctionData } from 'viem';
import { describe, expect, it } from 'vitest';
import { tokenAbi } from '../../../../src/chains/abi.ts';
import type { HeldWallet } from '../../../../src/custody/wallets/provider.ts';
import { chainIds, chains } from '../../../../src/money/catalogue.ts';
import { type ConnectedCircle, useCircle } from '../../../emulators/circle/connect.ts';
import type { Exchange } from '../../../emulators/circle/emulator.ts';
import { readPublished } from '../../../emulators/circle/published.ts';
import { useDatabase } from '../../../support/database.ts';

const circle = useCircle(useDatabase());
const token = chains.MATIC.tokens.USDC;
const to = '0x000000000000000000000000000000000000dEaD';

/** Everything that the adapter ever asks of Circle, and every way Circle answers it. */
async function driveThroughEverything({ provider, emulator, connect }: ConnectedCircle): Promise<void> {
  const follow = async (ref: string) => {
    while ((await provider.lookUp('MATIC', ref)).state === 'pending') await new Promise((next) => setTimeout(next, 5));
  };
  const wallet: HeldWallet = { ...(await provider.createWallet({ chain: 'MATIC' })), chain: 'MATIC' };
  for (const chain of chainIds) await provider.extendWallet(wallet, chain);
  const key = randomUUID();
  for (let time = 0; time < 2; time++) {
    await provider.createWallets({ chain: 'MATIC', count: 3, idempotencyKey: key });
  }
  const send = { from: wallet, token, to, atomic: 1_500_000n, idempotencyKey: randomUUID() } as const;
  const ref = await provider.sendToken(send);
  await provider.sendToken(send);
  await follow(ref);
  const native = { from: wallet, contract: to, data: '0x', value: 5n, idempotencyKey: randomUUID() } as const;
  await follow(await provider.execute(native));
  const data = encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [to, 1n] });
  await follow(
    await provider.execute({ from: wallet, contract: token, data, value: 1n, idempotencyKey: randomUUID() }),
  );
  const before = { askedAt: new Date(), quietMs: 0 };
  expect(await provider.findTaken(send, before)).toBe(ref);
  for (const fate of ['stuck', 'failed', 'denied', 'cancelled'] as const) {
    emulator.transactions.fates.push(fate);
    await follow(await provider.sendToken({ ...send, idempotencyKey: randomUUID() }));
  }
  await provider.signTypedData(wallet, {
    domain: { name: 'Paywright', chainId: 137 },
    types: { Note: [{ name: 'text', type: 'string' }] },
    primaryType: 'Note',
    message: { text: 'hello' },
  });
  await provider.notificationKey(emulator.signNotification(Buffer.alloc(0))['x-circle-key-id']);
  await provider.notificationKey(randomUUID());

  const refused = [
    provider.sendToken({ ...send, atomic: 2n }),
    provider.sendToken({ ...send, from: { ...wallet, ref: randomUUID() }, idempotencyKey: randomUUID() }),
    provider.lookUp('MATIC', randomUUID()),
    provider.extendWallet({ ...wallet, ref: randomUUID() }, 'ETH'),
    connect({ apiKey: 'LIVE_API_KEY:a:b' }).then((stranger) => stranger.createWallet({ chain: 'MATIC' })),
    connect({ apiKey: 'LIVE_API_KEY:a:b' }).then((stranger) => stranger.findTaken(send, before)),
    connect({ entitySecret: '0'.repeat(64) }).then((stranger) => stranger.createWallet({ chain: 'MATIC' })),
  ];
  for (const { status } of await Promise.allSettled(refused)) expect(status).toBe('rejected');
}

describe('the stand-in for Circle', () => {
  it('is asked and answers as Circle published', { tags: ['circle-api'] }, async () => {
    await driveThroughEverything(circle);
    const { exchanges } = circle.emulator;
    const published = readPublished();
    expect(exchanges.flatMap((exchange) => published.complaints(exchange))).toEqual([]);

    // Every operation was met in each of its statuses, so that the check above was about something.
    const met = new Set(exchanges.map(({ method, operation, answer }) => `${method} ${operation} ${answer?.status}`));
    for (const expected of [
      'GET /v1/w3s/config/entity/publicKey 200',
      'GET /v1/w3s/config/entity/publicKey 401',
      'POST /v1/w3s/developer/walletSets 201',
      'POST /v1/w3s/developer/wallets 201',
      'POST /v1/w3s/developer/wallets 200',
      'POST /v1/w3s/developer/wallets 400',
      'PUT /v1/w3s/developer/wallets/{id}/blockchains/{blockchain} 201',
      'PUT /v1/w3s/developer/wallets/{id}/blockchains/{blockchain} 200',
      'PUT /v1/w3s/developer/wallets/{id}/blockchains/{blockchain} 404',
      'POST /v1/w3s/developer/transactions/transfer 201',
      'POST /v1/w3s/developer/transactions/transfer 200',
      'POST /v1/w3s/developer/transactions/transfer 400',
      'POST /v1/w3s/developer/transactions/transfer 404',
      'POST /v1/w3s/developer/transactions/contractExecution 201',
      'POST /v1/w3s/developer/transactions/{id}/accelerate 200',
      'POST /v1/w3s/developer/sign/typedData 200',
      'GET /v1/w3s/transactions 200',
      'GET /v1/w3s/transactions 401',
      'GET /v1/w3s/transactions/{id} 200',
      'GET /v1/w3s/transactions/{id} 404',
      'GET /v2/notifications/publicKey/{id} 200',
      'GET /v2/notifications/publicKey/{id} 400',
    ]) {
      expect(met).toContain(expected);
    }
  });

  it('would be found out if it were not', { tags: ['circle-api'] }, () => {
    const { complaints } = readPublished();
    const good = circle.emulator.exchanges.find(
      ({ path, answer }) => path.endsWith('/transfer') && answer?.status === 201,
    );
    if (good === undefined) throw new Error('nothing was sent');
    expect(complaints(good)).toEqual([]);
    const body = good.request as Record<string, unknown>;
    const spoiled: Partial<Exchange>[] = [
      { request: { ...body, idempotencyKey: 'tomorrow' } },
      { request: { ...body, amounts: [] } },
      { request: { ...body, blockchain: 'POLYGON' } },
      { request: { ...body, walletId: undefined } },
      { request: { ...body, colour: 'green' } },
      { answer: { status: 201, body: { data: { id: 7 } } } },
      { answer: { status: 400, body: { message: 'no code' } } },
      { answer: { status: 418, body: {} } },
      { operation: '/v1/w3s/developer/teapots', path: '/v1/w3s/developer/teapots' },
    ];
    for (const change of spoiled) expect(complaints({ ...good, ...change })).not.toEqual([]);

    const list = circle.emulator.exchanges.find(
      ({ operation, answer }) => operation === '/v1/w3s/transactions' && JSON.stringify(answer).includes('refId'),
    );
    if (list === undefined) throw new Error('nothing was listed');
    expect(complaints(list)).toEqual([]);
    for (const [name, value] of [
      ['order', 'SIDEWAYS'],
      ['pageSize', '51'],
      ['pageAfter', 'the-last'],
      ['from', 'yesterday'],
      ['txType', 'SIDEWAYS'],
      ['includeAll', 'perhaps'],
      ['refId', randomUUID()],
    ] as const) {
      const query = new URLSearchParams([...list.query, [name, value]]);
      expect(complaints({ ...list, query }), name).not.toEqual([]);
    }
    const listed = { data: { transactions: [{ id: randomUUID(), refId: 7 }] } };
    expect(complaints({ ...list, answer: { status: 200, body: listed } })).not.toEqual([]);
  });
});
