import { EventEmitter, once } from 'node:events';
import { type Hex, isHex, keccak256 } from 'viem';
import type { Clock } from '../../src/kernel/clock.ts';
import { type ChainId, chains } from '../../src/money/catalogue.ts';
import { dueTime, followEntry, initialState, planEntry, toQuantity } from './chain-state.ts';
import { createEvmNode, type EvmNode, type RpcCall, type RpcOutcome } from './evm-node.ts';
import { executeEntry, replayJournal, result } from './execute-entry.ts';
import type { Journal, JournalEntry } from './journal.ts';
import { orderSends } from './order-sends.ts';
import { canonicalMethod } from './rpc-methods.ts';

/** A chain in this process. Every change is journaled before it is applied. */
export interface LocalChain {
  readonly id: ChainId;
  request(call: RpcCall): Promise<RpcOutcome>;
  /** Runs several calls without interruption. All of them are journaled, or none. */
  requestAll(calls: readonly RpcCall[]): Promise<readonly RpcOutcome[]>;
}

export interface OpenLocalChain extends LocalChain {
  /** Calls the listener after every write, until the returned function is called. */
  onChange(listener: () => void): () => void;
}

export interface OpenLocalChainOptions {
  readonly id: ChainId;
  readonly genesisTime: number;
  readonly richAccount: Hex;
  readonly past: AsyncIterable<readonly JournalEntry[]>;
  readonly journal: Journal;
  readonly clock: Clock;
}

interface Waiting {
  readonly calls: readonly RpcCall[];
  readonly resolve: (outcomes: readonly RpcOutcome[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Shorter than the timeout of those who wait (`answersWithinMs` in follow-blocks.ts). */
const longestAwaitMs = 10_000;

/** A planned call: a journal entry, or a response that needs none. */
type Planned = { readonly entry: JournalEntry } | { readonly answer: RpcOutcome };

export async function openLocalChain(options: OpenLocalChainOptions): Promise<OpenLocalChain> {
  const { id, genesisTime, richAccount, journal, clock } = options;
  const node = await createEvmNode({ chainId: chains[id].chainId, genesisTime, richAccount });
  const state = initialState(genesisTime);
  const nowSeconds = () => Math.floor(clock.now() / 1000);
  await replayJournal(node, state, options.past);
  // The node's clock continues from its last block. Calls that mine nothing, such as an estimate, should see the current time.
  await node.call('evm_increaseTime', [Math.max(0, nowSeconds() - state.lastBlockTime)]);

  const changes = new EventEmitter().setMaxListeners(0);
  const waiting: Waiting[] = [];
  let working = false;
  /** The timestamp of the last block that is about to be mined. */
  let plannedTime = 0;

  async function work(): Promise<void> {
    if (working) return;
    working = true;
    // Calls that arrive together are journaled together.
    await new Promise(setImmediate);
    try {
      while (waiting.length > 0) await workOff(orderSends(waiting.splice(0)));
    } finally {
      working = false;
    }
  }

  async function workOff(group: readonly Waiting[]): Promise<void> {
    plannedTime = 0;
    try {
      const plans: Planned[][] = [];
      for (const { calls } of group) plans.push(await planAll(calls));
      const entries = plans.flat().flatMap((plan) => ('entry' in plan ? [plan.entry] : []));
      if (entries.length > 0) await journal.append(id, entries);
      for (const [index, { resolve }] of group.entries()) {
        const outcomes: RpcOutcome[] = [];
        for (const plan of plans[index] ?? []) {
          outcomes.push('answer' in plan ? plan.answer : await executeEntry(node, state, plan.entry));
        }
        resolve(outcomes);
      }
      if (entries.length > 0) changes.emit('change');
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  async function planAll(calls: readonly RpcCall[]): Promise<Planned[]> {
    const plans: Planned[] = [];
    for (const call of calls) plans.push(await planOne(call));
    return plans;
  }

  async function planOne({ method, params }: RpcCall): Promise<Planned> {
    try {
      if (method === 'sandbox_letTimePass') return await planPassingTime(params[0]);
      if (method === 'eth_sendRawTransaction' && (await isKnown(node, params[0]))) {
        return { answer: { error: { code: -32_000, message: 'already known' } } };
      }
      return { entry: plan(method, params) };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return { answer: { error: { code: -32_602, message: error.message } } };
    }
  }

  function plan(method: string, params: readonly unknown[]): JournalEntry {
    const entry = planEntry(state, method, params, nowSeconds());
    followEntry(state, entry);
    plannedTime = Math.max(plannedTime, entry.blockTime ?? 0);
    return entry;
  }

  /**
   * Local chains mine only on a transaction, so on a quiet chain no deadline would ever pass. An empty block is mined if the clock
   * has reached the awaited time, but no block has. A caller that controls the next block itself, with automine off or a set time,
   * is not interfered with. It is journaled as the block that it mines, so that a replay mines the same block.
   */
  async function planPassingTime(until: unknown): Promise<Planned> {
    const time = Number(toQuantity(until));
    const nothing = { answer: { result: null } };
    if (!state.automine || state.nextBlockTime !== undefined) return nothing;
    if (time <= plannedTime || time > dueTime(state, nowSeconds())) return nothing;
    // From the node and not from our state, because a reverted chain has an older block again.
    const latest = await result<{ timestamp: string }>(node, 'eth_getBlockByNumber', ['latest', false]);
    return Number(latest.timestamp) < time ? { entry: plan('evm_mine', []) } : nothing;
  }

  /** Returns the newest block number once it differs from `known`, or after a timeout. */
  async function awaitBlock(known: unknown): Promise<RpcOutcome> {
    for (const signal = AbortSignal.timeout(longestAwaitMs); ; ) {
      // Listens before it asks, so that no block is missed in between.
      const changed = once(changes, 'change', { signal }).catch(() => {});
      const newest = await node.call('eth_blockNumber');
      if ('error' in newest || newest.result !== known || signal.aborted) return newest;
      await changed;
    }
  }

  function enqueue(calls: readonly RpcCall[]): Promise<readonly RpcOutcome[]> {
    return new Promise((resolve, reject) => {
      waiting.push({ calls, resolve, reject });
      void work();
    });
  }

  return {
    id,
    async request({ method, params }) {
      const { name, kind } = canonicalMethod(method);
      if (kind === 'unknown') return { error: { code: -32_601, message: `the method ${method} does not exist` } };
      if (name === 'sandbox_awaitBlock') return awaitBlock(params[0]);
      if (kind === 'read') return node.call(name, params);
      const [outcome] = await enqueue([{ method: name, params }]);
      if (outcome === undefined) throw new Error('a call was left without an answer');
      return outcome;
    },
    requestAll: enqueue,
    onChange(listener) {
      changes.on('change', listener);
      return () => void changes.off('change', listener);
    },
  };
}

/** Sending a known transaction again changes nothing, so it is not journaled again. */
async function isKnown(node: EvmNode, raw: unknown): Promise<boolean> {
  if (!isHex(raw)) throw new RangeError('a raw transaction must be hexadecimal');
  const outcome = await node.call('eth_getTransactionByHash', [keccak256(raw)]);
  return 'result' in outcome && outcome.result !== null;
}

/** Sends a read call and throws on an error. */
export async function askChain<Result>(
  chain: LocalChain,
  method: string,
  params: readonly unknown[] = [],
): Promise<Result> {
  const outcome = await chain.request({ method, params });
  if ('error' in outcome) throw new Error(`${method} on ${chain.id}: ${outcome.error.message}`);
  return outcome.result as Result;
}

/**
 * Runs the calls in one journal write while the chain accepts unsigned transactions of this account. Throws if one of them fails.
 */
export async function requestAllAs(
  chain: LocalChain,
  account: Hex,
  calls: readonly RpcCall[],
  failure: string,
): Promise<void> {
  const outcomes = await chain.requestAll([
    { method: 'hardhat_impersonateAccount', params: [account] },
    ...calls,
    { method: 'hardhat_stopImpersonatingAccount', params: [account] },
  ]);
  for (const outcome of outcomes) if ('error' in outcome) throw new Error(`${failure}: ${outcome.error.message}`);
}

export async function isFree(chain: LocalChain, address: Hex): Promise<boolean> {
  return (await askChain<Hex>(chain, 'eth_getCode', [address, 'latest'])) === '0x';
}
