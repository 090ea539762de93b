import { describe, expect, test } from 'vitest';
import { type ChainState, followEntry, initialState, planEntry } from './chain-state.ts';

const now = 1_750_000_000;

function plan(state: ChainState, method: string, params: readonly unknown[] = [], at = now) {
  const entry = planEntry(state, method, params, at);
  followEntry(state, entry);
  return entry;
}

describe('the time of a block', () => {
  test('is that of the clock, and never before the last one', () => {
    const state = initialState(now);
    expect(plan(state, 'evm_mine', [], now + 5).blockTime).toBe(now + 5);
    expect(plan(state, 'evm_mine', [], now + 3).blockTime).toBe(now + 5);
    expect(plan(state, 'eth_sendRawTransaction', ['0x'], now + 9).blockTime).toBe(now + 9);
  });

  test('is what was asked for, once, and goes on from there', () => {
    const state = initialState(now);
    plan(state, 'evm_setNextBlockTimestamp', [now + 100]);
    expect(plan(state, 'evm_mine', [], now + 1).blockTime).toBe(now + 100);
    expect(plan(state, 'evm_mine', [], now + 2).blockTime).toBe(now + 102);
    plan(state, 'evm_increaseTime', ['0x10']);
    expect(plan(state, 'evm_mine', [], now + 2).blockTime).toBe(now + 118);
    expect(plan(state, 'evm_mine', [now + 500]).blockTime).toBe(now + 500);
  });

  test('stands still for many blocks at once, unless they are given an interval', () => {
    const state = initialState(now);
    expect(plan(state, 'hardhat_mine', [10])).toEqual({
      method: 'hardhat_mine',
      params: ['0xa', '0x0'],
      blockTime: now,
    });
    expect(plan(state, 'hardhat_mine', ['0x3', '0x5']).blockTime).toBe(now);
    expect(plan(state, 'evm_mine').blockTime).toBe(now + 10);
  });

  test('is not set for a transaction that only waits', () => {
    const state = initialState(now);
    plan(state, 'evm_setNextBlockTimestamp', [now + 100]);
    plan(state, 'evm_setAutomine', [false]);
    expect(plan(state, 'eth_sendRawTransaction', ['0x']).blockTime).toBeUndefined();
    expect(plan(state, 'evm_mine').blockTime).toBe(now + 100);
  });
});

test.each([
  ['evm_mine', [now - 1]],
  ['evm_mine', [10_000_000_001]],
  ['evm_setNextBlockTimestamp', [now - 1]],
  ['evm_setNextBlockTimestamp', []],
  ['evm_increaseTime', [-1]],
  ['evm_increaseTime', [1.5]],
  ['evm_increaseTime', ['9'.repeat(78)]],
  ['hardhat_mine', ['0xffffffff']],
  ['hardhat_mine', ['0x2', `0x${'f'.repeat(64)}`]],
  ['hardhat_mine', ['0x']],
  ['hardhat_mine', [{}]],
  ['evm_setAutomine', ['false']],
  ['evm_setAutomine', []],
  ['hardhat_setStorageAt', ['0x0', 'x', '0x0']],
])('%s %j is refused and changes nothing', (method, params) => {
  const state = initialState(now);
  expect(() => plan(state, method, params)).toThrow(RangeError);
  expect(state).toEqual(initialState(now));
});
