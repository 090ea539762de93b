import { type ChainState, followEntry } from './chain-state.ts';
import type { EvmNode } from './evm-node.ts';
import { executeEntry, result } from './execute-entry.ts';
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
