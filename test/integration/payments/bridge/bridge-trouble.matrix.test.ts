// The tests of this file end with one look at all books, so the matrix runs every one of them.
/** @module-tag longer */
import { type Hex, pad, slice, toHex } from 'viem';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withBytes } from '../../../../sandbox/cctp/burn-messages.ts';
import { burnLayout, cctp, messageLayout, messageTransmitterAbi } from '../../../../src/chains/cctp.ts';
import type { AttestedMessage } from '../../../../src/payments/bridge/attestations.ts';
import type { Bridge } from '../../../../src/payments/bridge/bridge.ts';
import { useBridgeWorld } from '../../../support/bridges.ts';
import type { User } from '../../../support/deposits.ts';
import { oneOfMany } from '../../../support/matrix.ts';

const world = useBridgeWorld();
const { protocol } = world;
const { chains, log } = world.deposits;
const { db } = world.deposits.database;

const amount = 5_000_000n;
const way = { from: 'MATIC', to: 'BASE', atomic: amount } as const;
const minutes = 60_000;
const nothingDiffers = { MATIC: '0', BASE: '0' };

async function begin(): Promise<{ user: User; id: string }> {
  const user = await world.newRich('MATIC', amount);
  return { user, id: await world.open(user, way) };
}

/** It has arrived, once, and nothing is left over anywhere. */
async function expectArrived(user: User, id: string): Promise<Bridge> {
  const bridge = await world.goOn(id, 'completed');
  expect(bridge.minted?.atomic).toBe(amount);
  expect(await world.balance(user, 'MATIC')).toBe(0n);
  expect(await world.balance(user, 'BASE')).toBe(amount);
  expect(await world.eventsOf(user)).toEqual(['bridge.completed']);
  expect(await world.allowance('MATIC')).toBe(0n);
  expect(await world.held('bridge', 'MATIC')).toBe(0n);
  expect(await world.held('bridge', 'BASE')).toBe(0n);
  expect(await world.differences()).toEqual(nothingDiffers);
  return bridge;
}

async function attestedOf(id: string): Promise<AttestedMessage> {
  const { burnHash } = await world.look(id);
  const [attested] = burnHash === null ? [] : await protocol.attested('MATIC', burnHash);
  if (attested === undefined) throw new Error('it is not attested');
  return attested;
}

async function isDelivered({ message }: AttestedMessage): Promise<boolean> {
  const used = await chains.network('BASE').client.readContract({
    address: cctp.messageTransmitter,
    abi: messageTransmitterAbi,
    functionName: 'usedNonces',
    args: [slice(message, messageLayout.nonce, messageLayout.nonce + 32)],
  });
  return used > 0n;
}

afterAll(() => world.checkAtRest());

test('reserves differ by nothing after every single step, also when the money is on no chain', async () => {
  const { user, id } = await begin();
  const seen = new Set<string>();
  for (let count = 0; count < 30; count++) {
    const { status } = await world.look(id);
    seen.add(status);
    if (status === 'completed') break;
    await world.step(id);
    expect(await world.differences(), `after a step that was ${status}`).toEqual(nothingDiffers);
    if (status === 'waiting_attestation') {
      expect(await world.held('bridge', 'MATIC')).toBe(0n);
      expect(await world.owed('receivables', 'BASE')).toBe(-amount);
      expect(await world.owed('bridges_in_transit', 'BASE')).toBe(amount);
      expect(await world.owed('bridges_in_transit', 'MATIC')).toBe(0n);
    }
    await world.read();
    expect(await world.differences(), `when the chains were read after ${status}`).toEqual(nothingDiffers);
  }
  expect([...seen]).toEqual(['pending', 'approving', 'burning', 'waiting_attestation', 'minting', 'completed']);
  await expectArrived(user, id);
});

describe('whatever the attestation service says', () => {
  let user: User;
  let id: string;
  let attested: AttestedMessage;
  const inBody = (place: number) => messageLayout.body + place;
  const stranger = pad('0xbad');

  beforeAll(async () => {
    ({ user, id } = await begin());
    await world.goOn(id, 'waiting_attestation');
    attested = await attestedOf(id);
  });

  /** It stays where it is, an operator sees why, and nothing was minted. */
  async function expectWaiting(waitsFor: RegExp): Promise<void> {
    await world.advance(id);
    expect(await world.look(id)).toMatchObject({ status: 'waiting_attestation', mints: 0, messageNonce: null });
    expect(await world.waitsFor(id)).toMatch(waitsFor);
    expect((await world.steps(id)).map(({ step }) => step)).toEqual(['fill', 'approve', 'burn']);
    expect(await world.isStuck(id, 0)).toBe(false);
    expect(await world.isStuck(id, 61 * minutes)).toBe(true);
    await world.read();
    expect(await world.differences()).toEqual(nothingDiffers);
    expect(await world.balance(user, 'BASE')).toBe(0n);
  }

  test('it is waited for while it is in trouble', async () => {
    const trouble = Object.assign(new Error('the attestation service does not answer'), { retryAfterMs: 7 });
    world.attestationsSay(() => Promise.reject(trouble));
    await expectWaiting(/does not answer/);
    world.attestationsSay(() => Promise.reject(new DOMException('The operation timed out.', 'TimeoutError')));
    await expectWaiting(/timed out/);
    world.attestationsSay(async () => ({ state: 'not_asked', lookAgainInMs: 1 }));
    await expectWaiting(/its turn/);
    world.attestationsSay(async () => ({ state: 'unknown' }));
    await expectWaiting(/not known yet/);
    world.attestationsSay(async () => ({ state: 'known', attested: [], pending: 'insufficient fee' }));
    await expectWaiting(/insufficient fee/);
    world.attestationsSay(async () => ({ state: 'known', attested: [] }));
    await expectWaiting(/another burn than ours/);
  });

  const lies: readonly [string, (message: Hex) => Hex][] = [
    ['another amount', (message) => withBytes(message, inBody(burnLayout.amount), toHex(amount + 1n, { size: 32 }))],
    ['another recipient', (message) => withBytes(message, inBody(burnLayout.mintRecipient), stranger)],
    ['another sender', (message) => withBytes(message, inBody(burnLayout.messageSender), stranger)],
    ['another token', (message) => withBytes(message, inBody(burnLayout.burnToken), stranger)],
    ['another source', (message) => withBytes(message, messageLayout.sourceDomain, toHex(3, { size: 4 }))],
    ['another destination', (message) => withBytes(message, messageLayout.destinationDomain, toHex(3, { size: 4 }))],
    ['half a message', (message) => slice(message, 0, 200)],
    ['no message', () => '0x'],
  ];
  for (const [what, lie] of lies) {
    test(
      `${what} is not ours, and is not minted`,
      oneOfMany({ isRepresentative: what === 'another recipient' || what === 'half a message', isBuiltOn: true }),
      async () => {
        const told = { ...attested, message: lie(attested.message) };
        world.attestationsSay(async () => ({ state: 'known', attested: [told] }));
        await expectWaiting(/another burn than ours/);
        expect(await isDelivered(attested)).toBe(false);
      },
    );
  }

  test('what it says twice, and beside what is not ours, is minted once', async () => {
    const foreign = { ...attested, message: withBytes(attested.message, inBody(burnLayout.mintRecipient), stranger) };
    world.attestationsSay(async () => ({
      state: 'known',
      attested: [foreign, attested, attested],
      pending: 'another',
    }));
    await expectArrived(user, id);
    expect((await world.steps(id)).map(({ step }) => step)).toEqual(['fill', 'approve', 'burn', 'mint']);
  });
});

test('of two that are alike each gets its own mint, also when the service mixes them up', {
  tags: ['matrix'],
}, async () => {
  const [one, two] = [await begin(), await begin()];
  for (const { id } of [one, two]) await world.goOn(id, 'waiting_attestation');
  const ofOne = await attestedOf(one.id);
  await world.goOn(one.id, 'minting');
  world.attestationsSay(async () => ({ state: 'known', attested: [ofOne] }));
  await world.advance(two.id);
  expect(await world.look(two.id)).toMatchObject({ status: 'waiting_attestation', messageNonce: null });
  expect(await world.waitsFor(two.id)).toMatch(/another burn|duplicate/);
  for (const { id } of [one, two]) await world.goOn(id, 'completed');
  for (const { user, id } of [one, two]) await expectArrived(user, id);
});

test('two on one chain at once leave each other what the protocol may take', { tags: ['matrix'] }, async () => {
  const [one, two] = [await begin(), await begin()];
  for (const { id } of [one, two]) {
    await world.goOn(id, 'burning', world.step);
  }
  expect(await world.allowance('MATIC')).toBe(2n * amount);
  await world.goOn(two.id, 'waiting_attestation');
  expect(await world.allowance('MATIC')).toBe(amount);
  for (const { id } of [one, two]) await world.goOn(id, 'completed');
  for (const { user, id } of [one, two]) await expectArrived(user, id);
});

describe('a wallet provider that refuses for good', () => {
  for (const step of ['fill', 'approve', 'burn']) {
    test(
      `the ${step}: the whole amount is back`,
      oneOfMany({ isRepresentative: step === 'burn', isBuiltOn: true }),
      async () => {
        const inTreasury = await world.held('treasury', 'MATIC');
        const { user, id } = await begin();
        world.providerPlays(step, 'refuses');
        const bridge = await world.goOn(id, 'failed');
        expect(bridge).toMatchObject({ error: 'It is not allowed.', burnHash: null, mintHash: null });
        expect(await world.balance(user, 'MATIC')).toBe(amount);
        expect(await world.balance(user, 'BASE')).toBe(0n);
        expect(await world.eventsOf(user)).toEqual(['bridge.failed']);
        expect(await world.held('treasury', 'MATIC')).toBe(inTreasury + amount);
        expect(await world.allowance('MATIC')).toBe(0n);
        expect(await world.differences()).toEqual(nothingDiffers);
      },
    );
  }

  test('the mint: it is asked for again, and arrives', async () => {
    const { user, id } = await begin();
    await world.goOn(id, 'minting');
    world.providerPlays('mint', 'refuses');
    await world.advance(id);
    expect(await world.look(id)).toMatchObject({ status: 'waiting_attestation', mints: 1 });
    expect(await world.waitsFor(id)).toMatch(/a new attestation: It is not allowed/);
    expect(await world.differences()).toEqual(nothingDiffers);
    await expectArrived(user, id);
    expect((await world.steps(id)).map(({ step, state }) => `${step} ${state}`)).toEqual([
      'fill confirmed',
      'approve confirmed',
      'burn confirmed',
      'mint failed',
      'mint_2 confirmed',
    ]);
  });
});

describe('a wallet provider whose answer to', () => {
  for (const step of ['fill', 'approve', 'burn', 'mint']) {
    test(
      `the ${step} is lost, and that is asked twice, does it once`,
      oneOfMany({ isRepresentative: step === 'mint', isBuiltOn: true }),
      async () => {
        const { user, id } = await begin();
        world.providerPlays(step, 'does_not_hear', 'loses_the_answer', 'refuses', 'is_asked_twice');
        await expectArrived(user, id);
        const steps = await world.steps(id);
        expect(steps.map(({ state }) => state)).toEqual(['confirmed', 'confirmed', 'confirmed', 'confirmed']);
        const { rows } = await db.query('SELECT FROM key_transactions WHERE id = ANY ($1)', [
          steps.map((one) => one.id),
        ]);
        expect(rows).toHaveLength(4);
        world.forgetTricks();
      },
    );
  }
});

test('two processes that take every step at the same time do it once', async () => {
  const { user, id } = await begin();
  const processes = [world.runnerOf(), world.runnerOf()];
  const both = async () => {
    await Promise.all(processes.map((one) => one.advance({ saga: 'bridge', id })));
  };
  await world.goOn(id, 'completed', both);
  await expectArrived(user, id);
  expect((await world.steps(id)).map(({ state }) => state)).toEqual(Array(4).fill('confirmed'));
});

describe('somebody else delivers the message', () => {
  const helper = () => chains.outsider({ chains: ['BASE'] });

  test('before we know of it: it waits, is known by its nonce, and we send nothing', async () => {
    const { user, id } = await begin();
    await world.goOn(id, 'waiting_attestation');
    const attested = await attestedOf(id);
    const hash = await protocol.mint(await helper(), 'BASE', attested);
    expect(await isDelivered(attested)).toBe(true);
    await world.read();
    expect(await world.differences()).toEqual(nothingDiffers);
    expect(await world.balance(user, 'BASE')).toBe(0n);
    expect((await expectArrived(user, id)).mintHash).toBe(hash);
    expect((await world.steps(id)).map(({ step }) => step)).toEqual(['fill', 'approve', 'burn']);
  });

  test('before we have asked for ours: ours is dropped', { tags: ['matrix'] }, async () => {
    const { user, id } = await begin();
    await world.goOn(id, 'minting');
    expect((await world.steps(id)).at(-1)).toMatchObject({ step: 'mint', state: 'ready' });
    const hash = await protocol.mint(await helper(), 'BASE', await attestedOf(id));
    await world.advance(id);
    expect(await world.waitsFor(id)).toMatch(/to be read/);
    expect((await expectArrived(user, id)).mintHash).toBe(hash);
    expect((await world.steps(id)).map(({ step }) => step)).toEqual(['fill', 'approve', 'burn']);
  });

  test('while we ask for ours: the refusal is no failure', { tags: ['matrix'] }, async () => {
    const { user, id } = await begin();
    await world.goOn(id, 'minting');
    const attested = await attestedOf(id);
    const stranger = await helper();
    let hash: Hex | undefined;
    const { provider } = world.deposits;
    const late = world.runnerOf({
      provider: {
        ...provider,
        async execute(call) {
          hash ??= await protocol.mint(stranger, 'BASE', attested);
          return provider.execute(call);
        },
      },
    });
    await late.advance({ saga: 'bridge', id });
    expect(await world.look(id)).toMatchObject({ status: 'minting', mints: 1 });
    const bridge = await expectArrived(user, id);
    expect(bridge.mintHash).toBe(hash);
    expect((await world.steps(id)).at(-1)).toMatchObject({ step: 'mint', state: 'failed', hash: null });
  });

  test('in the block that holds ours: ours fails, its gas is posted, and it is credited once', async () => {
    const { user, id } = await begin();
    await world.goOn(id, 'minting');
    const attested = await attestedOf(id);
    const stranger = await helper();
    await chains.rpc('BASE', 'evm_setAutomine', [false]);
    await world.advance(id);
    const theirs = await stranger.wallet('BASE').sendTransaction({
      account: stranger.account,
      chain: null,
      to: cctp.messageTransmitter,
      data: (await chains.network('BASE').client.getTransaction({ hash: await mintHashOf(id) })).input,
      gas: 500_000n,
      maxFeePerGas: 10n ** 12n,
      maxPriorityFeePerGas: 10n ** 11n,
    });
    await chains.mine('BASE');
    await chains.rpc('BASE', 'evm_setAutomine', [true]);
    expect(await isDelivered(attested)).toBe(true);
    expect((await expectArrived(user, id)).mintHash).toBe(theirs);
    const ours = (await world.steps(id)).at(-1);
    expect(ours).toMatchObject({ step: 'mint', state: 'failed', gasCost: expect.any(BigInt) });
    const { rows } = await db.query<{ type: string }>('SELECT type FROM ledger.postings WHERE reference = $1', [
      `gas:BASE:${ours?.hash}`,
    ]);
    expect(rows).toHaveLength(1);
  });

  async function mintHashOf(id: string): Promise<Hex> {
    const { mintHash } = await world.look(id);
    if (mintHash === null) throw new Error('nothing was sent');
    return mintHash;
  }
});

test('tokens that are refused on their way back to the treasury are sent again until they are there', async () => {
  const { user, id } = await begin();
  log.clear();
  world.providerPlays('burn', 'refuses');
  world.providerPlays('return', 'refuses');
  world.providerPlays('return_2', 'refuses');
  await world.goOn(id, 'returning');
  await world.advance(id);
  await world.read();
  await world.advance(id);
  // The owner has the money, and the operator is told what has not come back yet.
  expect(await world.balance(user, 'MATIC')).toBe(amount);
  expect(await world.held('bridge', 'MATIC')).toBe(amount);
  expect(await world.waitsFor(id)).toBe('its tokens to go back to the treasury: It is not allowed.');
  expect(log.lines('error').map(({ trouble }) => trouble)).toContainEqual(
    expect.stringContaining('its tokens to go back to the treasury'),
  );
  await world.goOn(id, 'failed');
  expect((await world.steps(id)).filter(({ step }) => step.startsWith('return'))).toMatchObject([
    { step: 'return', state: 'failed' },
    { step: 'return_2', state: 'failed' },
    { step: 'return_3', state: 'confirmed' },
  ]);
  expect(await world.held('bridge', 'MATIC')).toBe(0n);
  expect(await world.allowance('MATIC')).toBe(0n);
  await world.checkAtRest();
});
