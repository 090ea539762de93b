import type { JournalEntry } from './journal.ts';

/** What a chain remembers beside its node. It follows from the journal alone, so it is the same after a restart. */
export interface ChainState {
  /** Whether a transaction is mined as soon as it arrives. */
  automine: boolean;
  /** No block is older than this one. */
  lastBlockTime: number;
  /** Seconds that the chain's clock is ahead of ours. */
  aheadSeconds: number;
  /** The time that somebody asked for, for the next block only. */
  nextBlockTime: number | undefined;
  /** Whether transactions may be waiting that could not be mined when they arrived. */
  pooled: boolean;
}

export function initialState(genesisTime: number): ChainState {
  return { automine: true, lastBlockTime: genesisTime, aheadSeconds: 0, nextBlockTime: undefined, pooled: false };
}

const sends = new Set(['eth_sendRawTransaction', 'eth_sendTransaction']);

/** Turns a call into what is written down: with every choice made, so that making it again gives the same blocks. */
export function planEntry(
  state: ChainState,
  method: string,
  given: readonly unknown[],
  nowSeconds: number,
): JournalEntry {
  const now = nowSeconds + state.aheadSeconds;
  const due = state.nextBlockTime ?? Math.max(state.lastBlockTime, now);
  switch (method) {
    case 'evm_mine': {
      const asked = given[0] === undefined ? due : toSeconds(given[0]);
      if (asked < state.lastBlockTime) throw new RangeError('a block cannot be older than the one before it');
      return { method, params: [], blockTime: asked };
    }
    case 'hardhat_mine':
      // Blocks of one moment, unless asked otherwise: a chain that runs ahead of the clock breaks what is signed for a time.
      return { method, params: [toQuantity(given[0] ?? 1), toQuantity(given[1] ?? 0)], blockTime: due };
    case 'evm_increaseTime':
      return { method, params: [toSeconds(given[0])], blockTime: undefined };
    case 'evm_setNextBlockTimestamp': {
      const asked = toSeconds(given[0]);
      if (asked < state.lastBlockTime) throw new RangeError('a block cannot be older than the one before it');
      return { method, params: [asked, asked - nowSeconds], blockTime: undefined };
    }
    case 'hardhat_setStorageAt':
      return { method, params: [given[0], toQuantity(given[1]), ...given.slice(2)], blockTime: undefined };
    default:
      return { method, params: given, blockTime: sends.has(method) && state.automine ? due : undefined };
  }
}

/** Follows an entry that was written down. */
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

function toSeconds(value: unknown): number {
  const seconds = typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(seconds) || seconds < 0) throw new RangeError('the time must be a whole number of seconds');
  return seconds;
}

/** As nodes want it: hexadecimal without leading zeros. */
function toQuantity(value: unknown): string {
  if (typeof value === 'number' || (typeof value === 'string' && /^(0x[0-9a-fA-F]+|\d+)$/.test(value))) {
    return `0x${BigInt(value).toString(16)}`;
  }
  throw new RangeError('a quantity must be a number or hexadecimal');
}
