import type { ChainState } from './chain-state.ts';
import type { EvmNode, RpcOutcome } from './evm-node.ts';
import type { JournalEntry } from './journal.ts';

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
