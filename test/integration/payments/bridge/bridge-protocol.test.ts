import { afterAll, describe, expect, test } from 'vitest';
import { feeRecipient } from '../../../../sandbox/accounts.ts';
import { cctp, tokenMessengerAbi } from '../../../../src/chains/cctp.ts';
import { amountOf, toDecimalText } from '../../../../src/money/amount.ts';
import { type ChainId, chains as facts } from '../../../../src/money/catalogue.ts';
import { requireBridgeable } from '../../../../src/payments/bridge/ask-protocol.ts';
import { describeBridge } from '../../../../src/payments/bridge/response.ts';
import { useBridgeWorld } from '../../../support/bridges.ts';
import type { User } from '../../../support/deposits.ts';
import { startUnrulyRpc } from '../../../support/unruly-rpc.ts';

const world = useBridgeWorld();
const { protocol } = world;
const { chains } = world.deposits;
const { db } = world.deposits.database;

const amount = 5_000_000n;
const way = { from: 'MATIC', to: 'BASE', atomic: amount } as const;
const nothingDiffers = { MATIC: '0', BASE: '0' };

async function begin(): Promise<{ user: User; id: string }> {
  const user = await world.newRich('MATIC', amount);
  return { user, id: await world.open(user, way) };
}

/** What the request is refused with, before anything is taken from anybody; undefined if it is not. */
async function refusal(atomic = amount, from = chains.network('MATIC')): Promise<string | undefined> {
  try {
    await requireBridgeable(from, chains.network('BASE'), amountOf('USDC', atomic));
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

afterAll(() => world.checkAtRest());

describe('a protocol that takes a minimum fee', () => {
  /** Thousandths of a basis point: 0.13 %. */
  const setFee = (minFee: bigint) => protocol.operate('MATIC', 'tokenMessenger', 'setMinFee', [minFee]);
  const feeOf = (atomic: bigint) =>
    chains.network('MATIC').client.readContract({
      address: cctp.tokenMessenger,
      abi: tokenMessengerAbi,
      functionName: 'getMinFeeAmount',
      args: [atomic],
    });

  test('is allowed exactly that, and its owner is credited what was minted', async () => {
    await setFee(13_000n);
    const fee = await feeOf(amount);
    expect(fee).toBe(6_500n);
    const before = await chains.balanceOf('BASE', 'USDC', feeRecipient);
    const { user, id } = await begin();
    await world.goOn(id, 'burning');
    expect((await world.look(id)).maxFee).toBe(fee);
    await world.goOn(id, 'waiting_attestation');
    expect(await world.differences()).toEqual(nothingDiffers);
    const bridge = await world.goOn(id, 'completed');
    expect(bridge.minted?.atomic).toBe(amount - fee);
    expect(await world.balance(user, 'BASE')).toBe(amount - fee);
    expect(await chains.balanceOf('BASE', 'USDC', feeRecipient)).toBe(before + fee);
    expect(describeBridge(bridge, '')).toMatchObject({
      amount: '5',
      received: toDecimalText(amountOf('USDC', amount - fee)),
    });
    await world.checkAtRest();
  });

  test('is asked again before the burn, for it may have changed since', async () => {
    const { user, id } = await begin();
    await setFee(26_000n);
    const fee = await feeOf(amount);
    await world.goOn(id, 'completed');
    expect(await world.balance(user, 'BASE')).toBe(amount - fee);
  });

  test('and raises it between the approval and the burn: nothing was burnt, and the amount is back', async () => {
    const { user, id } = await begin();
    await world.goOn(id, 'burning', world.step);
    await setFee(30_000n);
    await expectBack(user, id, /max fee/i);
  });

  test('is refused where it would keep more than a hundredth', async () => {
    expect(await refusal(1n)).toBe('bridge_fee_too_high');
    expect(await refusal(99n)).toBe('bridge_fee_too_high');
    expect(await refusal(100n)).toBeUndefined();
    await setFee(100_000n);
    expect(await refusal()).toBeUndefined();
    await setFee(101_000n);
    expect(await refusal()).toBe('bridge_fee_too_high');
  });

  test('and has raised it above that since the transfer was accepted: nothing is burnt, and the amount is back', async () => {
    await setFee(0n);
    const { user, id } = await begin();
    await world.goOn(id, 'approving', world.step);
    await setFee(9_999_999n);
    await expectBack(user, id, /more than 1 %/);
    await setFee(0n);
    expect(await refusal(1n)).toBeUndefined();
  });

  test('is nothing where the contract does not know the question', async () => {
    const code = await chains.rpc('MATIC', 'eth_getCode', [cctp.tokenMessenger, 'latest']);
    // It undoes whatever it is asked, without a word.
    await chains.rpc('MATIC', 'hardhat_setCode', [cctp.tokenMessenger, '0x60006000fd']);
    expect(await refusal(1n)).toBeUndefined();
    await chains.rpc('MATIC', 'hardhat_setCode', [cctp.tokenMessenger, code]);
  });
});

test('a chain that does not answer refuses nothing for good', async () => {
  const settings = chains.local.settings.get('MATIC');
  if (settings === undefined) throw new Error('there is no Polygon');
  const rpc = await startUnrulyRpc('MATIC', settings);
  rpc.misbehave(() => 'down');
  expect(await refusal(amount, rpc.network)).toBe('unavailable');
});

/** The whole amount is its owner's, its tokens are in the treasury, and the protocol may take nothing any more. */
async function expectBack(user: User, id: string, error: RegExp): Promise<void> {
  const inTreasury = (await world.held('treasury', 'MATIC')) + (await world.held('bridge', 'MATIC'));
  await world.goOn(id, 'returning', world.step);
  // For its owner it is over before the tokens are back.
  expect(describeBridge(await world.look(id), '').status).toBe('failed');
  expect(await world.balance(user, 'MATIC')).toBe(amount);
  expect(await world.differences()).toEqual(nothingDiffers);
  const bridge = await world.goOn(id, 'failed');
  expect(describeBridge(bridge, '')).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(error),
    received: null,
    finishedAt: expect.any(String),
  });
  expect(await world.eventsOf(user)).toEqual(['bridge.failed']);
  expect(await world.balance(user, 'MATIC')).toBe(amount);
  expect(await world.balance(user, 'BASE')).toBe(0n);
  expect(await world.held('treasury', 'MATIC')).toBe(inTreasury);
  expect(await world.held('bridge', 'MATIC')).toBe(0n);
  expect(await world.allowance('MATIC')).toBe(0n);
  expect(await world.differences()).toEqual(nothingDiffers);
}

describe('a protocol that has a lower limit', () => {
  const setLimit = (limit: bigint) =>
    protocol.operate('MATIC', 'tokenMinter', 'setMaxBurnAmountPerMessage', [facts.MATIC.tokens.USDC, limit]);

  test('refuses what is above it, before and after it was accepted', async () => {
    const { user, id } = await begin();
    await setLimit(amount - 1n);
    expect(await refusal()).toBe('bridge_limit_exceeded');
    expect(await refusal(amount - 1n)).toBeUndefined();
    await expectBack(user, id, /limit/i);
    await setLimit(amount / 2n);
    // What was taken for the gas comes back with it.
    const other = await world.newRich('MATIC', amount);
    await expectBack(other, await world.open(other, { ...way, gasFee: 40_000n }), /limit/i);
    await setLimit(10_000_000_000_000n);
  });
});

describe.each<[ChainId, 'tokenMinter' | 'messageTransmitter']>([
  ['MATIC', 'tokenMinter'],
  ['MATIC', 'messageTransmitter'],
  ['BASE', 'tokenMinter'],
  ['BASE', 'messageTransmitter'],
])('on %s the %s is paused', (chain, contract) => {
  test('before: it is refused; on the way: it comes back, or it waits', async () => {
    const { user, id } = await begin();
    await protocol.operate(chain, contract, 'pause');
    expect(await refusal()).toBe('bridge_paused');
    if (chain === 'MATIC') {
      await expectBack(user, id, /pause/i);
    } else {
      await world.goOn(id, 'minting');
      for (const mints of [1, 2]) {
        await world.goOn(id, 'waiting_attestation');
        expect(await world.look(id)).toMatchObject({ mints });
        expect(await world.waitsFor(id)).toMatch(/pause/i);
        expect(await world.differences()).toEqual(nothingDiffers);
        await world.goOn(id, 'minting');
      }
    }
    await protocol.operate(chain, contract, 'unpause');
    expect(await refusal()).toBeUndefined();
    if (chain === 'BASE') {
      await world.goOn(id, 'completed');
      expect(await world.balance(user, 'BASE')).toBe(amount);
      expect(await world.eventsOf(user)).toEqual(['bridge.completed']);
    }
  });
});

test('those who sign have changed: the old attestation is refused, a new one of the same message is minted once', async () => {
  const { user, id } = await begin();
  await world.goOn(id, 'minting');
  const { message, attestation, messageNonce } = await world.look(id);
  if (message === null || attestation === null) throw new Error('it is not attested');
  await protocol.operate('BASE', 'messageTransmitter', 'setSignatureThreshold', [1n]);
  await world.advance(id);
  expect(await world.look(id)).toMatchObject({ status: 'waiting_attestation', mints: 1, messageNonce });
  expect(await world.waitsFor(id)).toMatch(/a new attestation: .*attestation length/);
  world.attestationsSay(async () => ({
    state: 'known',
    attested: [{ message, attestation: `0x${attestation.slice(2, 132)}` }],
  }));
  await world.goOn(id, 'completed');
  expect(await world.balance(user, 'BASE')).toBe(amount);
  expect(await world.eventsOf(user)).toEqual(['bridge.completed']);
  await protocol.operate('BASE', 'messageTransmitter', 'setSignatureThreshold', [2n]);
});

test('a mint that is refused for hours is seen as stuck, however often it is tried again', async () => {
  const { user, id } = await begin();
  await world.goOn(id, 'minting');
  await protocol.operate('BASE', 'messageTransmitter', 'pause');
  await db.query("UPDATE bridges SET created_at = created_at - interval '1 day' WHERE id = $1", [id]);
  await world.goOn(id, 'waiting_attestation');
  await world.goOn(id, 'minting');
  expect(await world.isStuck(id, 0)).toBe(true);
  await protocol.operate('BASE', 'messageTransmitter', 'unpause');
  await world.goOn(id, 'completed');
  expect(await world.balance(user, 'BASE')).toBe(amount);
});
