import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { connectLocalChains, type LocalChains } from '../../../../sandbox/chains/local-chains.ts';
import { features } from '../../../../src/app/features.ts';
import { sagasOf } from '../../../../src/app/listed-feature.ts';
import { createNetworks, type Networks } from '../../../../src/chains/network.ts';
import { reconcile } from '../../../../src/custody/reserves/reconcile.ts';
import { type ReserveRow, reportReserves } from '../../../../src/custody/reserves/report.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import type { TestAccount } from '../../../support/client.ts';
import { isMatrix } from '../../../support/matrix.ts';
import { verifyProof } from '../../../support/proofs.ts';
import { useService } from '../../../support/service.ts';
import { until } from '../../../support/until.ts';

const service = useService();
const { database } = service;
const outside = () => `0x${randomBytes(20).toString('hex')}` as const;

let local: LocalChains;
let networks: Networks;
beforeAll(async () => {
  local = await connectLocalChains(database);
  networks = createNetworks(local.settings);
});

async function funded(amount: number): Promise<TestAccount> {
  const account = await service.client.register();
  const { status } = await service.client.post('/sandbox/fund', { amount, currency: 'USDC' }, account.key);
  expect(status).toBe(200);
  return account;
}

const reportNow = () =>
  reportReserves({ db: database.db, networks, logger: createLogger('silent'), chainTimeoutMs: 20_000 });

describe('GET /reserves and GET /account/proof', () => {
  test('anybody sees what is held and owed, and a user that his balance is part of it', async () => {
    const account = await funded(125.5);
    const { status, body: proof } = await service.client.get('/account/proof', account.key);
    expect(status).toBe(200);
    expect(proof.proofs.map(({ balance }: { balance: string }) => balance)).toEqual(['125.5']);
    const { body: published } = await service.client.get(`/reserves?snapshotId=${proof.snapshotId}`);
    expect(verifyProof(proof, published)).toEqual(['125.5 USDC on MATIC']);
    // A deposit is credited a moment before the chain counts as read.
    const row = await until('the cursor', async () => {
      const { body } = await service.client.get('/reserves');
      const rows: ReserveRow[] = body.reserves;
      return rows.find(({ chain, asset, inFlight }) => chain === 'MATIC' && asset === 'USDC' && inFlight === '0');
    });
    expect(row).toEqual({
      chain: 'MATIC',
      asset: 'USDC',
      onChain: expect.stringMatching(/^[1-9][\d.]*$/),
      owed: row.onChain,
      inFlight: '0',
      difference: '0',
      blockNumber: expect.any(Number),
    });
    const { body: filtered } = await service.client.get('/account/proof?chain=BASE&asset=USDC', account.key);
    expect(filtered.proofs).toEqual([]);
  });

  test('shows a balance that has just changed', async () => {
    const [from, to] = [await funded(40), await service.client.register()];
    await service.client.get('/account/proof', from.key);
    await service.client.post('/agent/transfer', { to: to.handle, amount: 10, currency: 'USDC' }, from.key);
    const { body } = await service.client.get('/account/proof', to.key);
    expect(body.proofs.map(({ balance }: { balance: string }) => balance)).toEqual(['9.85']);
    expect(verifyProof(body)).toEqual(['9.85 USDC on MATIC']);
  });

  test.each([
    ['/reserves?snapshotId=rsv_nothing', 404, 'snapshot_not_found'],
    ['/reserves?chain=MATIC', 400, 'invalid_request'],
    ['/account/proof', 401, 'unauthorized'],
  ])('%s is answered with %i', async (path, status, code) => {
    const reply = await service.client.get(path);
    expect([reply.status, reply.body.code]).toEqual([status, code]);
  });

  test.each([
    ['/account/proof?snapshotId=rsv_nothing', 404, 'snapshot_not_found'],
    ['/account/proof?chain=DOGE', 400, 'invalid_request'],
    ['/account/proof?asset=usdc', 400, 'invalid_request'],
    ['/account/proof?owner=somebody', 400, 'invalid_request'],
  ])('%s is answered with %i', async (path, status, code) => {
    const { key } = await service.client.register();
    const reply = await service.client.get(path, key);
    expect([reply.status, reply.body.code]).toEqual([status, code]);
  });
});

test('whenever anybody looks, while money comes, moves and goes, the difference is nothing', {
  tags: ['longer'],
}, async () => {
  let busy = true;
  let looked = 0;
  let underWay = 0;
  const work = Promise.all(
    Array.from({ length: isMatrix ? 4 : 2 }, async () => {
      // Until the reserves were looked at often enough meanwhile, however slow a look is.
      do await moveMoney();
      while (looked <= 5 || underWay === 0);
    }),
  ).finally(() => {
    busy = false;
  });
  async function moveMoney(): Promise<void> {
    const [from, to] = [await funded(100), await funded(20)];
    await service.client.post('/agent/transfer', { to: to.handle, amount: 30, currency: 'USDC' }, from.key);
    const withdrawals = [from, to, from].map(async (account) => {
      const body = { amount: 12.345678, currency: 'USDC', address: outside() };
      const { body: opened } = await service.client.post('/circle/withdraw', body, account.key);
      await until('the withdrawal', async () => {
        const { rows } = await database.db.query('SELECT status FROM withdrawals WHERE id = $1', [opened.txId]);
        return rows[0]?.['status'] === 'complete';
      });
    });
    await Promise.all(withdrawals);
  }
  while (busy) {
    const { reserves } = await reportNow();
    expect(reserves.filter(({ difference }) => difference !== '0')).toEqual([]);
    looked++;
    if (reserves.some(({ inFlight }) => inFlight !== '0')) underWay++;
  }
  await work;
  expect(await reconcile({ db: database.db, networks, sagas: sagasOf(features) })).toEqual([]);
});
