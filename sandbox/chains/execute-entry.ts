import { type ChainState, followEntry } from './chain-state.ts';
import type { EvmNode, RpcOutcome } from './evm-node.ts';
import type { JournalEntry } from './journal.ts';

/** Replays the journal on a new node. */
export async function replayJournal(
  node: EvmNode,
  state: ChainState,
  past: AsyncIterable<readonly JournalEntry[]>,
): Promise<void> {
  for await (const entries of past) {
    for (let at = 0; at < entries.length; ) {
      const run = nextRun(state, entries.slice(at, at + longestRun));
      const done = run.length > 1 ? await replayRun(node, state, run) : await replayOne(node, state, entries[at]);
      for (const entry of entries.slice(at, at + done)) followEntry(state, entry);
      at += done;
    }
  }
}

/** A transaction that was mined or rejected on arrival. */
type Sent = JournalEntry & { readonly blockTime: number };

const longestRun = 100;

/** Most entries are consecutive transactions. Sending them in one batch takes a fifth less time. */
function nextRun({ pooled }: ChainState, entries: readonly JournalEntry[]): readonly Sent[] {
  const end = entries.findIndex((entry) => pooled || !isSent(entry));
  return (end === -1 ? entries : entries.slice(0, end)) as readonly Sent[];
}

function isSent({ method, blockTime }: JournalEntry): boolean {
  return blockTime !== undefined && (method === 'eth_sendRawTransaction' || method === 'eth_sendTransaction');
}

/** Returns how many entries are done. The node stops at the first rejected one, and each earlier one has mined a block. */
async function replayRun(node: EvmNode, state: ChainState, run: readonly Sent[]): Promise<number> {
  const before = await height(node);
  if (await node.callAllAt(run)) return run.length;
  const done = (await height(node)) - before;
  await replayOne(node, state, run[done]);
  return done + 1;
}

async function replayOne(node: EvmNode, state: ChainState, entry: JournalEntry | undefined): Promise<number> {
  if (entry === undefined) throw new Error('a chain has more blocks than its journal');
  await executeEntry(node, state, entry);
  return 1;
}

async function height(node: EvmNode): Promise<number> {
  return Number(await result<string>(node, 'eth_blockNumber'));
}

/**
 * Runs a journal entry on the node. The result depends only on earlier entries, so replaying a journal reproduces every block
 * hash.
 */
export async function executeEntry(node: EvmNode, state: ChainState, entry: JournalEntry): Promise<RpcOutcome> {
  const { method, params, blockTime } = entry;
  switch (method) {
    case 'eth_sendRawTransaction':
    case 'eth_sendTransaction':
      return blockTime === undefined ? pool(node, state, entry) : sendAndMine(node, state, entry, blockTime);
    case 'evm_mine':
    case 'hardhat_mine':
      if (blockTime === undefined) throw new Error(`${method} was written down without a time`);
      return node.callAt(blockTime, method, params);
    case 'evm_increaseTime':
    case 'evm_setNextBlockTimestamp':
      // The node gets the time with each block, so only our state keeps it.
      return { result: String(params[0]) };
    case 'evm_revert':
      // Transactions that were pending at the snapshot are pending again.
      state.pooled = true;
      return node.call(method, params);
    case 'evm_setAutomine':
      state.pooled = true;
      return node.call(method, params);
    default:
      return node.call(method, params);
  }
}

async function pool(node: EvmNode, state: ChainState, { method, params }: JournalEntry): Promise<RpcOutcome> {
  const outcome = await node.call(method, params);
  if ('result' in outcome) state.pooled = true;
  return outcome;
}

async function sendAndMine(
  node: EvmNode,
  state: ChainState,
  entry: JournalEntry,
  blockTime: number,
): Promise<RpcOutcome> {
  if (!state.pooled) {
    const outcome = await node.callAt(blockTime, entry.method, entry.params);
    if (!('error' in outcome && mayBeMinedLater.test(outcome.error.message))) return outcome;
  }
  // EDR rejects a transaction with a future nonce or a low fee; real nodes keep it pending.
  await node.call('evm_setAutomine', [false]);
  const outcome = await pool(node, state, entry);
  if ('result' in outcome) await minePooled(node, state, blockTime);
  await node.call('evm_setAutomine', [true]);
  return outcome;
}

const mayBeMinedLater = /^Nonce too high|is too low for the next block/;

async function minePooled(node: EvmNode, state: ChainState, blockTime: number): Promise<void> {
  while ((await result<string>(node, 'eth_getBlockTransactionCountByNumber', ['pending'])) !== '0x0') {
    await node.callAt(blockTime, 'evm_mine');
  }
  state.pooled = (await result<unknown[]>(node, 'eth_pendingTransactions')).length > 0;
}

export async function result<Result>(node: EvmNode, method: string, params: readonly unknown[] = []): Promise<Result> {
  const outcome = await node.call(method, params);
  if ('error' in outcome) throw new Error(`${method}: ${outcome.error.message}`);
  return outcome.result as Result;
}
