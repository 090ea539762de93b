import { randomUUID } from 'node:crypto';
import { encodeFunctionData, type Hex, parseEther, toHex } from 'viem';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tokenAbi } from '../../../../src/chains/abi.ts';
import type { CircleProvider } from '../../../../src/custody/adapters/circle/circle-provider.ts';
import type { ContractCall, HeldWallet, TokenSend } from '../../../../src/custody/wallets/provider.ts';
import { chains as facts } from '../../../../src/money/catalogue.ts';
import { outcome, stranger } from '../../../contract/workbench.ts';
import { fast, useCircle } from '../../../emulators/circle/connect.ts';
import type { Trouble } from '../../../emulators/circle/faults.ts';
import { complaintsAbout } from '../../../emulators/circle/published.ts';
import type { EmulatedTransaction } from '../../../emulators/circle/transaction-book.ts';
import { useChains } from '../../../support/chains.ts';
import { useDatabase } from '../../../support/database.ts';

const database = useDatabase();
const chains = useChains(database);
const circle = useCircle(database, { networks: () => chains.networks });
const { USDC: token } = facts.MATIC.tokens;

let provider: CircleProvider;
let from: HeldWallet;
let to: Hex;

beforeEach(async () => {
  provider = await circle.connect({ listSettlesMs: 0 });
  from = { ...(await provider.createWallet({ chain: 'MATIC' })), chain: 'MATIC' };
  to = stranger();
  await chains.rpc('MATIC', 'hardhat_setBalance', [from.address, toHex(parseEther('10'))]);
  await chains.mint('MATIC', 'USDC', from.address, 100_000_000n);
});
afterEach(() => {
  const { faults, repeats, transactions } = circle.emulator;
  faults.clear();
  delete repeats.refuseWith;
  delete repeats.areForgotten;
  transactions.paused = false;
  transactions.listedAfterMs = 0;
  transactions.mostPerPage = 50;
});
afterAll(() => expect(complaintsAbout(circle.emulator.exchanges)).toEqual([]));

const onTransfers = ({ path }: { path: string }) => path.endsWith('/transfer');
const onList = ({ path }: { path: string }) => path === '/v1/w3s/transactions';
const newSend = (atomic = 1_500_000n): TokenSend => ({ from, token, to, atomic, idempotencyKey: randomUUID() });
const newCall = (atomic: bigint): ContractCall => ({
  from,
  contract: token,
  data: encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [to, atomic] }),
  idempotencyKey: randomUUID(),
});
const secondsAgo = (seconds: number) => ({
  askedAt: new Date(Date.now() - seconds * 1_000),
  quietMs: seconds * 1_000,
});
const received = () => chains.balanceOf('MATIC', 'USDC', to);
const sent = () => [...circle.emulator.transactions.all.values()].filter(({ wallet }) => wallet.id === from.ref);

/** Every answer is lost although Circle does what it is asked. */
async function loseAnswers(send: TokenSend): Promise<EmulatedTransaction> {
  circle.emulator.faults.next({ trouble: { how: 'lose-answer' }, times: 4, on: onTransfers });
  expect(await outcome(provider.sendToken(send))).toMatchObject({ retryable: true });
  const [taken] = sent();
  if (taken === undefined) throw new Error('Circle did not take it');
  return taken;
}

describe('a refusal under a key whose first answers were lost', () => {
  it('proves nothing: Circle’s list has what was paid', async () => {
    const send = newSend();
    const { id } = await loseAnswers(send);
    circle.emulator.repeats.refuseWith = { status: 400, code: 155201 };
    const refusal = await outcome(provider.sendToken(send));
    expect(refusal).toMatchObject({ code: 'insufficient_funds', retryable: false, provesNothingTaken: false });
    expect(await provider.findTaken(send, secondsAgo(5))).toBe(id);
    await expect.poll(async () => (await provider.lookUp('MATIC', id)).state).toBe('confirmed');
    expect(await provider.findTaken(send, secondsAgo(5))).toBe(id);
    expect(await received()).toBe(1_500_000n);
  });

  it('is final when Circle’s list has nothing', async () => {
    const send = newSend();
    circle.emulator.faults.next({ trouble: { how: 'drop' }, times: 4, on: onTransfers });
    circle.emulator.faults.next({ trouble: { how: 'refuse', status: 400, code: 155201 }, on: onTransfers });
    expect(await outcome(provider.sendToken(send))).toMatchObject({ retryable: true });
    expect(await outcome(provider.sendToken(send))).toMatchObject({ retryable: false, provesNothingTaken: false });
    expect(await provider.findTaken(send, secondsAgo(5))).toBeUndefined();
    expect(sent()).toEqual([]);
  });
});

describe('a request that is repeated after Circle has forgotten its key', () => {
  beforeEach(() => {
    circle.emulator.repeats.areForgotten = true;
  });
  /** Circle takes it, the process ends before the answer is here, and a later one asks again. */
  async function takeUnheard(asked: TokenSend | ContractCall): Promise<string> {
    return 'token' in asked ? provider.sendToken(asked) : provider.execute(asked);
  }

  it.each([
    ['a transfer', () => newSend()],
    ['a call', () => newCall(1_500_000n)],
  ])('is followed where it was taken, and not sent again: %s', async (_, begin) => {
    const asked = begin();
    const id = await takeUnheard(asked);
    const again = { ...asked, askedBefore: { askedAt: secondsAgo(60).askedAt } };
    expect(await takeUnheard(again)).toBe(id);
    expect(sent()).toHaveLength(1);
    await expect.poll(async () => (await provider.lookUp('MATIC', id)).state).toBe('confirmed');
    expect(await received()).toBe(1_500_000n);
  });

  it('is sent when Circle’s list has nothing', async () => {
    const send = newSend();
    await takeUnheard({ ...send, askedBefore: { askedAt: secondsAgo(60).askedAt } });
    expect(sent()).toHaveLength(1);
  });

  it('is not sent while Circle’s list cannot be read', async () => {
    const send = newSend();
    const id = await takeUnheard(send);
    const again = { ...send, askedBefore: { askedAt: secondsAgo(60).askedAt } };
    circle.emulator.faults.next({ trouble: { how: 'server-error' }, times: 4, on: onList });
    expect(await outcome(takeUnheard(again))).toMatchObject({ retryable: true });
    expect(sent()).toHaveLength(1);
    expect(await takeUnheard(again)).toBe(id);
  });
});

describe('Circle’s list', () => {
  it('may be behind: nothing is concluded until it has settled', async () => {
    const patient = await circle.connect({ listSettlesMs: 60_000 });
    const send = newSend();
    circle.emulator.transactions.listedAfterMs = 600_000;
    const { id } = await loseAnswers(send);
    const early = await outcome(patient.findTaken(send, secondsAgo(5)));
    expect(early).toMatchObject({ code: 'provider_list_unsettled', retryable: true });
    // What counts is the last time that nobody answered.
    const again = { ...secondsAgo(600), quietMs: 0 };
    expect(await outcome(patient.findTaken(send, again))).toMatchObject({ code: 'provider_list_unsettled' });
    circle.emulator.transactions.listedAfterMs = 0;
    expect(await patient.findTaken(send, secondsAgo(5))).toBe(id);
    expect(await patient.findTaken(newSend(7n), secondsAgo(120))).toBeUndefined();
  });

  it('is read to its end', async () => {
    circle.emulator.transactions.paused = true;
    const payload = { to: token, data: '0x' as Hex, value: 0n };
    const wallet = circle.emulator.wallets.get(from.ref);
    const crowd = () => {
      for (let place = 0; place < 120; place++) {
        circle.emulator.transactions.add(wallet, payload, { operation: 'TRANSFER', refId: randomUUID() });
      }
    };
    crowd();
    const send = newSend();
    const ref = await provider.sendToken(send);
    crowd();
    expect(await provider.findTaken(send, secondsAgo(60))).toBe(ref);
    expect(await provider.findTaken(newSend(), secondsAgo(60))).toBeUndefined();
    for (const transaction of sent()) transaction.state = 'CANCELLED';
  });

  it('that never ends is no proof', async () => {
    circle.emulator.transactions.paused = true;
    // What is too much is counted in pages.
    circle.emulator.transactions.mostPerPage = 1;
    const wallet = circle.emulator.wallets.get(from.ref);
    for (let place = 0; place < 101; place++) {
      const described = { operation: 'TRANSFER', refId: randomUUID() };
      circle.emulator.transactions.add(wallet, { to: token, data: '0x', value: 0n }, described);
    }
    const error = await outcome(provider.findTaken(newSend(), secondsAgo(60)));
    expect(error).toMatchObject({ code: 'provider_list_too_long', retryable: true });
    for (const transaction of sent()) transaction.state = 'CANCELLED';
  });

  it('is looked at from some time before it was asked, because clocks differ', async () => {
    const send = newSend();
    const ref = await provider.sendToken(send);
    expect(await provider.findTaken(send, secondsAgo(-240))).toBe(ref);
  });

  it.each<[string, Trouble]>([
    ['fails', { how: 'server-error' }],
    ['cannot be reached', { how: 'drop' }],
    ['never comes', { how: 'hang' }],
    ['is somebody else’s page', { how: 'nonsense' }],
    ['is refused', { how: 'refuse', status: 400, code: 2 }],
    ['is refused to our key', { how: 'refuse', status: 401, code: 401 }],
  ])('that %s says nothing', async (_, trouble) => {
    const send = newSend();
    const ref = await provider.sendToken(send);
    const hasty = await circle.connect({ listSettlesMs: 0, limits: { ...fast, timeoutMs: 300, tries: 2 } });
    circle.emulator.faults.next({ trouble, times: 2, on: onList });
    expect(await outcome(hasty.findTaken(send, secondsAgo(5)))).toMatchObject({ retryable: true });
    circle.emulator.faults.clear();
    expect(await provider.findTaken(send, secondsAgo(5))).toBe(ref);
  });

  it('with one key twice is for somebody to look at', async () => {
    const send = newSend();
    const ref = await provider.sendToken(send);
    const { wallet, payload, described } = circle.emulator.transactions.get(ref);
    const { id } = circle.emulator.transactions.add(wallet, payload, described);
    const error = await outcome(provider.findTaken(send, secondsAgo(5)));
    expect(error).toMatchObject({ code: 'provider_ambiguous', retryable: true });
    expect((error as Error).message).toContain(id);
  });
});

describe('a request of our first releases, which sent no reference', () => {
  /** Carries it out, and forgets the reference. */
  async function askOld(asked: TokenSend | ContractCall): Promise<EmulatedTransaction> {
    const ref = await ('token' in asked ? provider.sendToken(asked) : provider.execute(asked));
    const transaction = circle.emulator.transactions.get(ref);
    delete (transaction.described as Record<string, unknown>)['refId'];
    return transaction;
  }
  const mined = (...transactions: readonly EmulatedTransaction[]) =>
    expect.poll(() => transactions.every(({ state }) => state === 'COMPLETE')).toBe(true);

  it('is found by what it did on the chain', async () => {
    const [send, call] = [newSend(), newCall(2_000_000n)];
    const bare = { from, contract: to, data: '0x', value: 5n, idempotencyKey: randomUUID() } as const;
    // Others like them, which are not them.
    const others = [newSend(1_500_001n), newCall(2_000_001n), { ...bare, value: 6n, idempotencyKey: randomUUID() }];
    const taken = [];
    for (const asked of [send, call, bare, ...others]) taken.push(await askOld(asked));
    await mined(...taken);
    const ids = taken.map(({ id }) => id);
    const found = [];
    for (const asked of [send, call, bare]) found.push(await provider.findTaken(asked, secondsAgo(60)));
    expect(found).toEqual(ids.slice(0, 3));
    expect(await provider.findTaken(newSend(9n), secondsAgo(60))).toBeUndefined();
  });

  it('in another token is not taken for it', async () => {
    await chains.mint('MATIC', 'EURC', from.address, 1_500_000n);
    const eurc = chains.network('MATIC').tokens.find(({ asset }) => asset === 'EURC')?.address;
    if (eurc === undefined) throw new Error('there is no EURC');
    await mined(await askOld({ ...newSend(), token: eurc }));
    expect(await provider.findTaken(newSend(), secondsAgo(60))).toBeUndefined();
  });

  it('is waited for until the chain can tell', async () => {
    circle.emulator.transactions.paused = true;
    const send = newSend();
    const transaction = await askOld(send);
    const early = await outcome(provider.findTaken(send, secondsAgo(60)));
    expect(early).toMatchObject({ code: 'provider_list_unsettled', retryable: true });
    circle.emulator.transactions.paused = false;
    await mined(transaction);
    expect(await provider.findTaken(send, secondsAgo(60))).toBe(transaction.id);
  });

  it('that came to its end unsigned was not taken', async () => {
    circle.emulator.transactions.fates.push('denied');
    const send = newSend();
    const transaction = await askOld(send);
    await expect.poll(() => transaction.state).toBe('DENIED');
    expect(await provider.findTaken(send, secondsAgo(60))).toBeUndefined();
  });

  it('of which there are two alike is for somebody to look at, unless one is known to be another’s', async () => {
    const [first, second] = [await askOld(newSend()), await askOld(newSend())];
    await mined(first, second);
    const lost = newSend();
    const error = await outcome(provider.findTaken(lost, secondsAgo(60)));
    expect(error).toMatchObject({ code: 'provider_ambiguous', retryable: true });
    const belongsToAnother = async (ref: string) => ref === first.id;
    expect(await provider.findTaken(lost, { ...secondsAgo(60), belongsToAnother })).toBe(second.id);
    const allKnown = async () => true;
    expect(await provider.findTaken(lost, { ...secondsAgo(60), belongsToAnother: allKnown })).toBeUndefined();
  });
});
