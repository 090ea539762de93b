import { toHex } from 'viem';
import type { JournalEntry } from './journal.ts';

/** What a chain tracks outside its node. It is derived from the journal alone, so it survives a restart. */
export interface ChainState {
  /** Whether a transaction is mined on arrival. */
  automine: boolean;
  /** No later block may have an earlier time. */
  lastBlockTime: number;
  /** How far the chain's clock is ahead of the system clock. */
  aheadSeconds: number;
  /** A time requested for the next block only. */
  nextBlockTime: number | undefined;
  /** Whether transactions may be pending that could not be mined on arrival. */
  pooled: boolean;
}

export function initialState(genesisTime: number): ChainState {
  return { automine: true, lastBlockTime: genesisTime, aheadSeconds: 0, nextBlockTime: undefined, pooled: false };
}

const sends = new Set(['eth_sendRawTransaction', 'eth_sendTransaction']);

/**
 * Turns a call into a journal entry with every choice made, so that a replay gives the same blocks. Invalid values throw a
 * RangeError and are not journaled.
 */
export function planEntry(
  state: ChainState,
  method: string,
  given: readonly unknown[],
  nowSeconds: number,
): JournalEntry {
  const due = dueTime(state, nowSeconds);
  switch (method) {
    case 'evm_mine':
      return { method, params: [], blockTime: given[0] === undefined ? due : toBlockTime(state, given[0]) };
    case 'hardhat_mine': {
      // By default all blocks share one timestamp: a chain that runs ahead of the clock breaks signatures with a deadline.
      const [blocks, interval] = [toQuantity(given[0] ?? 1), toQuantity(given[1] ?? 0)];
      if (blocks > mostBlocks) throw new RangeError(`at most ${mostBlocks} blocks can be mined at once`);
      toBlockTime(state, due + Number(blocks * interval));
      return { method, params: [toHex(blocks), toHex(interval)], blockTime: due };
    }
    case 'evm_increaseTime': {
      const seconds = Number(toQuantity(given[0]));
      toBlockTime(state, due + seconds);
      return { method, params: [seconds], blockTime: undefined };
    }
    case 'evm_setNextBlockTimestamp': {
      const time = toBlockTime(state, given[0]);
      return { method, params: [time, time - nowSeconds], blockTime: undefined };
    }
    case 'evm_setAutomine':
      if (typeof given[0] !== 'boolean') throw new RangeError('automine is true or false');
      return { method, params: [given[0]], blockTime: undefined };
    case 'hardhat_setStorageAt':
      return { method, params: [given[0], toHex(toQuantity(given[1])), ...given.slice(2)], blockTime: undefined };
    default:
      return { method, params: given, blockTime: sends.has(method) && state.automine ? due : undefined };
  }
}

/** The timestamp of a block that is mined now. */
export function dueTime({ nextBlockTime, lastBlockTime, aheadSeconds }: ChainState, nowSeconds: number): number {
  return nextBlockTime ?? Math.max(lastBlockTime, nowSeconds + aheadSeconds);
}

/** Applies a journaled entry to the state. */
export function followEntry(state: ChainState, { method, params, blockTime }: JournalEntry): void {
  if (method === 'evm_setAutomine') state.automine = params[0] === true;
  if (method === 'evm_increaseTime') state.aheadSeconds += Number(params[0]);
  if (method === 'evm_setNextBlockTimestamp') {
    state.nextBlockTime = Number(params[0]);
    state.aheadSeconds = Number(params[1]);
  }
  if (blockTime === undefined) return;
  state.nextBlockTime = undefined;
  const further = method === 'hardhat_mine' ? (Number(params[0]) - 1) * Number(params[1]) : 0;
  state.lastBlockTime = Math.max(state.lastBlockTime, blockTime + Math.max(0, further));
}

/** Beyond any meaningful date, and within the exact range of numbers. */
const latestBlockTime = 10_000_000_000;
const mostBlocks = 1_000_000n;

function toBlockTime({ lastBlockTime }: ChainState, value: unknown): number {
  const time = Number(toQuantity(value));
  if (time < lastBlockTime) throw new RangeError('a block cannot be older than the one before it');
  if (time > latestBlockTime) throw new RangeError('this time is too far in the future');
  return time;
}

export function toQuantity(value: unknown): bigint {
  if (Number.isSafeInteger(value) && Number(value) >= 0) return BigInt(Number(value));
  if (typeof value === 'string' && /^(0x[0-9a-fA-F]{1,64}|\d{1,78})$/.test(value)) return BigInt(value);
  throw new RangeError('a quantity is a whole number, or hexadecimal');
}
