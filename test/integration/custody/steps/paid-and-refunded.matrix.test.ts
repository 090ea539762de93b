import { Writable } from 'node:stream';
import { encodeFunctionData, type Hex, keccak256 } from 'viem';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { tokenAbi } from '../../../../src/chains/abi.ts';
import { findStep } from '../../../../src/custody/steps/chain-step.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { Ended, noCheckpoint } from '../../../../src/kernel/sagas/checkpoint.ts';
import { wakeSaga } from '../../../../src/kernel/sagas/wake-saga.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import { chains as facts } from '../../../../src/money/catalogue.ts';
import { payStep } from '../../../../src/payments/withdrawals/withdrawal.ts';
import { stranger } from '../../../contract/workbench.ts';
import { type CircleEmulator, startCircleEmulator } from '../../../emulators/circle/emulator.ts';
import { complaintsAbout } from '../../../emulators/circle/published.ts';
import type { EmulatedTransaction } from '../../../emulators/circle/transaction-book.ts';
import { useChains } from '../../../support/chains.ts';
import { useDatabase } from '../../../support/database.ts';
import { type Service, type StartOptions, startService } from '../../../support/service.ts';
import { until } from '../../../support/until.ts';

const database = useDatabase();
const { db } = database;
const chains = useChains(database);

let emulator: CircleEmulator;
let service: Service;
let lines: string[] = [];

beforeAll(async () => {
  emulator = await startCircleEmulator({ networks: () => chains.networks });
  service = await start();
});
afterEach(() => {
  vi.useRealTimers();
  emulator.faults.clear();
  delete emulator.repeats.refuseWith;
  emulator.transactions.paused = false;
  lines = [];
});
afterAll(async () => {
  await service?.stop();
  expect(complaintsAbout(emulator.exchanges)).toEqual([]);
  await emulator.stop();
});

/** None of these tests is about the pauses between two tries of a call, or about how many calls Circle takes. */
const quick = { pauseMs: 20, writesPerSecond: 100, readsPerSecond: 100 };
/** For a Circle that says nothing: on a busy machine some other answer may come too late then, and is asked for again. */
const impatient = { ...quick, timeoutMs: 1_500, totalMs: 2_000 };

function start({ checkpoint = noCheckpoint, circleLimits = quick }: StartOptions = {}): Promise<Service> {
  const log = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(...chunk.toString().split('\n'));
      done();
    },
  });
  return startService(database, {
    checkpoint,
    circleLimits,
    logger: createLogger('error', log),
    env: {
      WALLET_PROVIDER: 'circle',
      CIRCLE_API_KEY: emulator.apiKey,
      CIRCLE_ENTITY_SECRET: emulator.entitySecret,
      CIRCLE_BASE_URL: emulator.url,
    },
  });
}

const onTransfers = ({ path }: { path: string }) => path.endsWith('/transfer');
const onList = ({ path }: { path: string }) => path === '/v1/w3s/transactions';
const refusal = { how: 'refuse', status: 400, code: 155201 } as const;
const asked = (on: typeof onTransfers) => emulator.exchanges.filter(on).length;

interface Payer {
  readonly id: string;
  readonly key: string;
  readonly to: Hex;
}

/** Somebody with 100 USDC that are in the treasury already, so that nothing but the withdrawal is under way. */
async function funded(): Promise<string> {
  const { key } = await service.client.register();
  expect((await service.client.post('/sandbox/fund', { amount: 100, currency: 'USDC' }, key)).status).toBe(200);
  await until('the deposit to be swept', async () => {
    const { rows } = await db.query(
      'SELECT FROM deposits WHERE swept_at IS NULL AND account_id IS NOT NULL UNION ALL SELECT FROM sweeps WHERE finished_at IS NULL',
    );
    return rows.length === 0;
  });
  return key;
}

async function withdraw(key: string): Promise<Payer> {
  const to = stranger();
  const { status, body } = await service.client.post('/circle/withdraw', { amount: 50, address: to }, key);
  expect(status).toBe(200);
  return { id: body.txId, key, to };
}

const balance = async (key: string) => (await service.client.get('/circle/balance', key)).body.USDC;
const statusOf = async ({ id, key }: Payer) => (await service.client.get(`/circle/withdrawals/${id}`, key)).body.status;
const received = ({ to }: Payer) => chains.balanceOf('MATIC', 'USDC', to);
const stepOf = ({ id }: Payer) => findStep(db, payStep(id));
const takenFor = ({ to }: Payer) =>
  [...emulator.transactions.all.values()].filter(({ described }) => described['destinationAddress'] === to);

async function waitsFor({ id }: Payer): Promise<string | null> {
  const { rows } = await db.query<{ waitsFor: string | null }>('SELECT waits_for FROM withdrawals WHERE id = $1', [id]);
  return rows[0]?.waitsFor ?? null;
}

const isWaitingFor = (payer: Payer, what: string) =>
  until(`it to wait for ${what}`, async () => (await waitsFor(payer))?.includes(what));

/** As `paywright sagas resume` does: nobody wants to sit out the pauses between two tries. */
const wake = ({ id }: Payer) => wakeSaga(db, { saga: 'withdrawal', id, lane: 'MATIC' });

/** As if nobody had asked for two minutes: by then Circle's list is settled. */
async function letListSettle(payer: Payer): Promise<void> {
  await isAtRest(payer);
  await db.query(
    `UPDATE chain_steps SET unanswered_at = unanswered_at - interval '2 minutes'
      WHERE saga_id = $1 AND settled_at IS NULL`,
    [payer.id],
  );
  await wake(payer);
}

/** Nobody is at it; somebody will look again later, unless it is over. */
async function isAtRest({ id }: Payer): Promise<void> {
  await until('the withdrawal to be left alone', async () => {
    const { rows } = await db.query<{ busy: boolean }>(
      `SELECT locked_at IS NOT NULL OR run_at <= now() AS busy FROM graphile_worker._private_jobs
        WHERE payload ->> 'id' = $1`,
      [id],
    );
    return rows.every(({ busy }) => !busy);
  });
}

async function expectPaidOnce(payer: Payer): Promise<void> {
  await until('the withdrawal to be complete', async () => (await statusOf(payer)) === 'complete');
  expect(await received(payer)).toBe(49_255_000n);
  expect(takenFor(payer)).toHaveLength(1);
  expect(await balance(payer.key)).toBe('50');
  await expectBooksAgree();
}

async function expectGivenBackOnce(payer: Payer): Promise<void> {
  await until('the withdrawal to fail', async () => (await statusOf(payer)) === 'failed');
  expect(await balance(payer.key)).toBe('100');
  const { rows } = await db.query('SELECT FROM ledger.postings WHERE reference = $1', [`withdrawal:${payer.id}:end`]);
  expect(rows).toHaveLength(1);
  expect(await received(payer)).toBe(0n);
  await expectBooksAgree();
}

async function expectStillOpen(payer: Payer): Promise<void> {
  expect(await statusOf(payer)).toBe('sending');
  expect(await balance(payer.key)).toBe('50');
}

async function expectBooksAgree(): Promise<void> {
  const rows = await until('the reserves to be told anew', async () => {
    const { reserves } = (await service.client.get('/reserves')).body;
    return (
      (reserves as { inFlight: string; difference: string }[]).every(({ inFlight }) => inFlight === '0') && reserves
    );
  });
  expect(rows.map(({ difference }: { difference: string }) => difference)).toEqual(rows.map(() => '0'));
  expect((await verifyLedger(db)).problems).toEqual([]);
}

describe('a refusal', { timeout: 120_000 }, () => {
  test('after answers that were lost proves nothing: what Circle has paid is not given back', async () => {
    const key = await funded();
    emulator.faults.next({ trouble: { how: 'lose-answer' }, times: 4, on: onTransfers });
    emulator.repeats.refuseWith = { status: 400, code: 155201 };
    const payer = await withdraw(key);
    await expectPaidOnce(payer);
    expect((await stepOf(payer))?.providerRef).toBe(takenFor(payer)[0]?.id);
  });

  test('after requests that Circle never got is final once its list is settled', { tags: ['matrix'] }, async () => {
    const key = await funded();
    emulator.faults.next({ trouble: { how: 'drop' }, times: 4, on: onTransfers });
    emulator.faults.next({ trouble: refusal, times: 100, on: onTransfers });
    const payer = await withdraw(key);
    await isWaitingFor(payer, 'list does not show the transaction');
    await expectStillOpen(payer);
    await letListSettle(payer);
    await expectGivenBackOnce(payer);
    expect(takenFor(payer)).toEqual([]);
  });

  test('is final at once when nobody had asked before', async () => {
    const key = await funded();
    const [transfers, lists] = [asked(onTransfers), asked(onList)];
    emulator.faults.next({ trouble: refusal, on: onTransfers });
    await expectGivenBackOnce(await withdraw(key));
    // One process at a time goes on with a withdrawal.
    expect([asked(onTransfers), asked(onList)]).toEqual([transfers + 1, lists]);
  });

  async function restart(circleLimits: StartOptions['circleLimits'] = quick): Promise<void> {
    await service.stop();
    service = await start({ circleLimits });
  }

  test.each([
    ['fails', { how: 'server-error' }],
    ['never comes', { how: 'hang' }],
  ] as const)(
    'waits for a list that %s, and nothing is given back meanwhile',
    { tags: ['matrix'] },
    async (_, trouble) => {
      if (trouble.how === 'hang') {
        await restart(impatient);
        onTestFinished(() => restart());
      }
      const key = await funded();
      const lists = asked(onList);
      emulator.faults.next({ trouble: { how: 'drop' }, times: 4, on: onTransfers });
      emulator.faults.next({ trouble: refusal, times: 100, on: onTransfers });
      emulator.faults.next({ trouble, times: 100, on: onList });
      const payer = await withdraw(key);
      await until('the list to be asked for', async () => asked(onList) > lists);
      await isWaitingFor(payer, 'Circle');
      await expectStillOpen(payer);
      // However long ago it was asked for.
      const before = asked(onList);
      await letListSettle(payer);
      await until('the list to be asked for again', async () => asked(onList) > before + 1);
      await expectStillOpen(payer);

      emulator.faults.clear();
      emulator.faults.next({ trouble: refusal, times: 100, on: onTransfers });
      await letListSettle(payer);
      await expectGivenBackOnce(payer);
    },
  );

  test('is not final any earlier for a worker whose clock is three days ahead', { tags: ['matrix'] }, async () => {
    const key = await funded();
    emulator.faults.next({ trouble: { how: 'drop' }, times: 4, on: onTransfers });
    emulator.faults.next({ trouble: refusal, times: 100, on: onTransfers });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3 * 24 * 60 * 60_000 });
    const lists = asked(onList);
    const payer = await withdraw(key);
    await isWaitingFor(payer, 'list does not show the transaction');
    await wake(payer);
    await until('the list to be asked for again', async () => asked(onList) > lists + 1);
    await expectStillOpen(payer);
    vi.useRealTimers();
    // What it keeps for some seconds by that clock it would keep for days now.
    await restart();
    await letListSettle(payer);
    await expectGivenBackOnce(payer);
  });
});

describe('what Circle calls failed', { timeout: 120_000 }, () => {
  /** Circle has signed it, says that it failed, and no chain has seen it. */
  async function failWithHash(
    payer: Payer,
    over: { atomic: bigint },
  ): Promise<{ taken: EmulatedTransaction; raw: Hex }> {
    const taken = await until('Circle to take it', async () => takenFor(payer)[0]);
    const { client } = chains.network('MATIC');
    const { account } = taken.wallet;
    const fees = await client.estimateFeesPerGas();
    const raw = await account.signTransaction({
      to: facts.MATIC.tokens.USDC,
      data: encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [payer.to, over.atomic] }),
      gas: 200_000n,
      nonce: await client.getTransactionCount({ address: account.address }),
      chainId: facts.MATIC.chainId,
      ...fees,
      type: 'eip1559',
    });
    taken.txHash = keccak256(raw);
    taken.errorReason = 'FAILED_ON_CHAIN';
    taken.state = 'FAILED';
    return { taken, raw };
  }

  async function isLookedAtTwice({ id }: EmulatedTransaction): Promise<void> {
    const looks = () => asked(({ path }) => path === `/v1/w3s/transactions/${id}`);
    const before = looks();
    await until('it to be looked at again', async () => looks() > before + 2);
  }

  test('waits for its receipt, and when that says it was paid an operator is told', async () => {
    const key = await funded();
    emulator.transactions.paused = true;
    const payer = await withdraw(key);
    const { taken, raw } = await failWithHash(payer, { atomic: 49_255_000n });
    await isLookedAtTwice(taken);
    await expectStillOpen(payer);

    await chains.rpc('MATIC', 'eth_sendRawTransaction', [raw]);
    await isWaitingFor(payer, 'succeeded on the chain');
    await expectStillOpen(payer);
    await until('the operator to be told', async () =>
      lines.some((line) => line.includes('Circle reports a transaction as failed that succeeded on the chain')),
    );
    expect(await received(payer)).toBe(49_255_000n);
    const { reserves } = (await service.client.get('/reserves')).body;
    expect(reserves.filter((row: { difference: string }) => row.difference !== '0')).toEqual([]);

    // Whoever was told has had Circle put it right.
    const receipt = await chains.network('MATIC').client.getTransactionReceipt({ hash: taken.txHash ?? '0x' });
    taken.blockHeight = Number(receipt.blockNumber);
    taken.state = 'COMPLETE';
    await wake(payer);
    await expectPaidOnce(payer);
  });

  test('waits for its receipt, and is given back when that says it was undone', { tags: ['matrix'] }, async () => {
    const key = await funded();
    emulator.transactions.paused = true;
    const payer = await withdraw(key);
    const { taken, raw } = await failWithHash(payer, { atomic: 10n ** 18n });
    await isLookedAtTwice(taken);
    await expectStillOpen(payer);
    await chains.rpc('MATIC', 'eth_sendRawTransaction', [raw]).catch(() => {});
    await expectGivenBackOnce(payer);
  });
});

describe('a process that ends between asking and the answer', { timeout: 120_000 }, () => {
  test('has written down that it was about to ask, and the next one pays once', { tags: ['matrix'] }, async () => {
    const key = await funded();
    await service.stop();
    let ended = false;
    // At every try: it is the same process until it is stopped, and would go on by itself.
    service = await start({
      checkpoint: (name) => {
        if (name !== 'withdrawal.pay.asked') return;
        ended = true;
        throw new Ended(name);
      },
    });
    const payer = await withdraw(key);
    await until('the process to end', async () => ended);
    expect(await stepOf(payer)).toMatchObject({ state: 'asked', askedAt: expect.any(Date), providerRef: null });
    await service.stop();

    // For all that the next one knows it was asked for: a refusal alone is no reason to give it back.
    emulator.faults.next({ trouble: refusal, times: 1, on: onTransfers });
    service = await start();
    await isWaitingFor(payer, 'list does not show the transaction');
    await expectStillOpen(payer);
    await wake(payer);
    await expectPaidOnce(payer);
  });
});
