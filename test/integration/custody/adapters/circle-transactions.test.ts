import { randomUUID } from 'node:crypto';
import { parseEther, toHex } from 'viem';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createNetworks, type Network } from '../../../../src/chains/network.ts';
import type { HeldWallet, TransactionReport } from '../../../../src/custody/wallets/provider.ts';
import { chains as facts } from '../../../../src/money/catalogue.ts';
import { useCircle } from '../../../emulators/circle/connect.ts';
import { complaintsAbout } from '../../../emulators/circle/published.ts';
import type { EmulatedTransaction, TransactionState } from '../../../emulators/circle/transaction-book.ts';
import { useChains } from '../../../support/chains.ts';
import { useDatabase } from '../../../support/database.ts';

const database = useDatabase();
const chains = useChains(database);
const circle = useCircle(database, { networks: () => chains.networks });
const to = '0x000000000000000000000000000000000000dEaD';

/** No state of Circle's, at least not today. */
const invented = 'PENDING_TEA_BREAK' as TransactionState;

let wallet: HeldWallet;
let transaction: EmulatedTransaction;

/** A transfer that moves only when it is told to. */
beforeEach(async () => {
  circle.emulator.transactions.paused = true;
  wallet = { ...(await circle.provider.createWallet({ chain: 'MATIC' })), chain: 'MATIC' };
  await chains.rpc('MATIC', 'hardhat_setBalance', [wallet.address, toHex(parseEther('10'))]);
  await chains.mint('MATIC', 'USDC', wallet.address, 1_000_000n);
  transaction = circle.emulator.transactions.get(await send());
});
afterEach(async () => {
  circle.emulator.faults.clear();
  await chains.rpc('MATIC', 'evm_setAutomine', [true]);
});
afterAll(() => {
  const asPromised = circle.emulator.exchanges.filter(({ answer }) => !JSON.stringify(answer ?? '').includes(invented));
  expect(complaintsAbout(asPromised)).toEqual([]);
});

const send = () =>
  circle.provider.sendToken({
    from: wallet,
    token: facts.MATIC.tokens.USDC,
    to,
    atomic: 1_000_000n,
    idempotencyKey: randomUUID(),
  });
const lookUp = () => circle.provider.lookUp('MATIC', transaction.id);
const outcome = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

function silentNetwork(): Network {
  const networks = createNetworks(
    new Map([['MATIC', { urls: ['http://127.0.0.1:9'], confirmations: 1, pollMs: 100 }]]),
  );
  const network = networks.get('MATIC');
  if (network === undefined) throw new Error('there is no Polygon');
  return network;
}

async function reach(state: TransactionState): Promise<void> {
  for (let step = 0; step < 20 && transaction.state !== state; step++) await circle.emulator.transactions.step();
  expect(transaction.state).toBe(state);
}

async function reachConfirmed(): Promise<TransactionReport & { state: 'confirmed' }> {
  await reach('COMPLETE');
  const report = await lookUp();
  if (report.state !== 'confirmed') throw new Error(`it is ${report.state}`);
  return report;
}

describe('looking up a transaction', () => {
  it.each<TransactionState>(['INITIATED', 'CLEARED', 'QUEUED'])(
    'finds one that is %s on its way, without a hash',
    async (state) => {
      await reach(state);
      expect(await lookUp()).toEqual({ state: 'pending' });
    },
  );

  it.each<TransactionState>(['SENT', 'CONFIRMED'])('finds one that is %s on its way, with its hash', async (state) => {
    await reach(state);
    expect(await lookUp()).toEqual({ state: 'pending', hash: transaction.txHash });
  });

  it('takes a state that Circle invents tomorrow for one on its way', async () => {
    transaction.state = invented;
    expect(await lookUp()).toEqual({ state: 'pending' });
    transaction.state = 'INITIATED';
  });

  it('finds hash, block and cost of one that is complete', async () => {
    const report = await reachConfirmed();
    const receipt = await chains.network('MATIC').client.getTransactionReceipt({ hash: report.hash });
    expect(report).toEqual({
      state: 'confirmed',
      hash: receipt.transactionHash,
      blockNumber: receipt.blockNumber,
      gasCost: receipt.gasUsed * receipt.effectiveGasPrice,
    });
  });

  it.each(['blockHeight', 'networkFee'] as const)(
    'reads %s from the chain when Circle leaves it out',
    async (field) => {
      const whole = await reachConfirmed();
      delete transaction[field];
      expect(await lookUp()).toEqual(whole);
    },
  );

  it('reads the cost from the chain when Circle writes it finer than it can be', async () => {
    const whole = await reachConfirmed();
    transaction.networkFee = '0.0000000000000000001';
    expect(await lookUp()).toEqual(whole);
  });

  it('makes up nothing about one that Circle calls complete without saying where', async () => {
    await reachConfirmed();
    delete transaction.txHash;
    expect(await outcome(lookUp())).toMatchObject({ code: 'provider_trouble', retryable: true });
  });

  it.each(['failed', 'denied', 'cancelled'] as const)('finds one that was %s failed, at no cost', async (fate) => {
    transaction.fate = fate;
    await reach(fate.toUpperCase() as TransactionState);
    const report = await lookUp();
    expect(report).toMatchObject({ state: 'failed', gasCost: 0n });
    expect(report).toHaveProperty('reason', expect.stringContaining(fate));
  });

  it('finds one that was mined and undone failed, with what it cost', async () => {
    // Two transfers of all it has: the second passes Circle's checks and fails on the chain.
    const second = circle.emulator.transactions.get(await send());
    await reach('COMPLETE');
    expect(second.state).toBe('FAILED');
    const report = await circle.provider.lookUp('MATIC', second.id);
    const receipt = await chains.network('MATIC').client.getTransactionReceipt({ hash: second.txHash ?? '0x' });
    expect(receipt.status).toBe('reverted');
    expect(report).toMatchObject({
      state: 'failed',
      hash: second.txHash,
      gasCost: receipt.gasUsed * receipt.effectiveGasPrice,
    });
  });

  it.each<TransactionState>(['FAILED', 'DENIED', 'CANCELLED'])(
    'waits for the receipt of one that is %s and has a hash',
    async (state) => {
      await chains.rpc('MATIC', 'evm_setAutomine', [false]);
      await reach('SENT');
      transaction.state = state;
      expect(await lookUp()).toEqual({ state: 'pending', hash: transaction.txHash });
      await chains.rpc('MATIC', 'evm_setAutomine', [true]);
      await chains.mine('MATIC');
      // It was paid after all.
      expect(await outcome(lookUp())).toMatchObject({ code: 'provider_contradicts_chain', retryable: true });
    },
  );

  it.each([
    ['does not answer', () => new Map([['MATIC', silentNetwork()] as const])],
    ['is off', () => new Map()],
  ])('decides nothing about one that failed and has a hash while the chain %s', async (_, networks) => {
    await circle.emulator.transactions.step();
    // Two transfers of all it has: the second fails on the chain.
    const second = circle.emulator.transactions.get(await send());
    await reach('COMPLETE');
    expect(second.state).toBe('FAILED');
    const blind = await circle.connect({ networks: networks() });
    expect(await blind.lookUp('MATIC', second.id)).toEqual({ state: 'pending', hash: second.txHash });
    expect(await circle.provider.lookUp('MATIC', second.id)).toMatchObject({ state: 'failed', hash: second.txHash });
  });

  it('does not believe that one failed which the chain has carried out', async () => {
    await reach('COMPLETE');
    transaction.state = 'FAILED';
    expect(await outcome(lookUp())).toMatchObject({ code: 'provider_contradicts_chain', retryable: true });
    transaction.state = 'COMPLETE';
    expect(await lookUp()).toMatchObject({ state: 'confirmed' });
  });

  it('concludes nothing from one that Circle does not know', async () => {
    const error = await outcome(circle.provider.lookUp('MATIC', randomUUID()));
    expect(error).toMatchObject({ code: 'transaction_not_found', retryable: true });
  });
});

describe('a stuck transaction', () => {
  const accelerations = () =>
    circle.emulator.exchanges.filter(
      ({ path }) => path === `/v1/w3s/developer/transactions/${transaction.id}/accelerate`,
    );
  const keys = () => accelerations().map(({ request }) => (request as { idempotencyKey: string }).idempotencyKey);

  beforeEach(async () => {
    transaction.fate = 'stuck';
    await reach('STUCK');
  });

  it('is given a higher fee and arrives', async () => {
    const stuckHash = transaction.txHash;
    expect(await lookUp()).toEqual({ state: 'pending', hash: stuckHash });
    expect(transaction.accelerations).toBe(1);
    const report = await reachConfirmed();
    expect(report.hash).not.toBe(stuckHash);
    expect(await chains.balanceOf('MATIC', 'USDC', wallet.address)).toBe(0n);
  });

  it('is given one higher fee by everybody who finds it stuck at once', async () => {
    await Promise.all(Array.from({ length: 6 }, lookUp));
    expect(new Set(keys()).size).toBe(1);
    expect(transaction.accelerations).toBe(1);
  });

  it('is asked for with the same key again when the answer was lost', async () => {
    const impatient = await circle.connect({ limits: { tries: 1, writesPerSecond: 500 } });
    circle.emulator.faults.next({ trouble: { how: 'lose-answer' }, on: ({ path }) => path.endsWith('/accelerate') });
    expect(await impatient.lookUp('MATIC', transaction.id)).toMatchObject({ state: 'pending' });
    transaction.state = 'STUCK';
    await lookUp();
    expect(keys()).toHaveLength(2);
    expect(new Set(keys()).size).toBe(1);
    expect(transaction.accelerations).toBe(1);
  });

  it('is left alone for a while, then given a still higher fee', async () => {
    await lookUp();
    transaction.state = 'STUCK';
    await lookUp();
    expect(keys()).toHaveLength(1);
    const impatient = await circle.connect({ patienceMs: 0 });
    await impatient.lookUp('MATIC', transaction.id);
    expect(new Set(keys()).size).toBe(2);
    expect(transaction.accelerations).toBe(2);
  });

  it('is given no higher fee when it offers as much as is ever paid, and says what it waits for', async () => {
    transaction.maxFee = '10000.000000001';
    expect(await lookUp()).toEqual({
      state: 'pending',
      hash: transaction.txHash,
      waitsFor: expect.stringContaining('FEE_CEILING_GWEI'),
    });
    expect(accelerations()).toHaveLength(0);
    transaction.maxFee = '9999.999999999';
    await lookUp();
    expect(accelerations()).toHaveLength(1);
  });

  it('stays on its way when Circle does not want to', async () => {
    circle.emulator.faults.next({
      trouble: { how: 'refuse', status: 400, code: 155229 },
      on: ({ path }) => path.endsWith('/accelerate'),
    });
    expect(await lookUp()).toEqual({ state: 'pending', hash: transaction.txHash });
    expect(await lookUp()).toEqual({ state: 'pending', hash: transaction.txHash });
    expect(accelerations()).toHaveLength(1);
  });
});
