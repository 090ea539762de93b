import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { type Hex, isHex } from 'viem';
import type { BlockSubscription } from '../../src/chains/network.ts';

export type BlockFollower = ReturnType<typeof followBlocks>;

const pauseMs = 500;

/** The chain answers sooner (`longestAwaitMs` in local-chain.ts), unless its process hangs. */
const answersWithinMs = 15_000;

/** Notifies any number of listeners of new blocks. Long-polls the chain while there are any. */
export function followBlocks(url: string) {
  const listeners = new Set<() => void>();
  const stopping = new AbortController();
  const { signal } = stopping;
  let following = false;
  /** Undefined while the chain would not tell of a new block. */
  let known: Hex | undefined;

  async function follow(): Promise<void> {
    following = true;
    while (listeners.size > 0 && !signal.aborted) {
      try {
        const askedAt = performance.now();
        const newest = await awaitBlock(url, known, signal);
        const isNew = newest !== known;
        known = newest;
        if (isNew) for (const listener of listeners) listener();
        else if (performance.now() - askedAt < pauseMs) throw new Error('the chain does not wait for its next block');
      } catch {
        // The process that runs the chains is gone; another takes over within a second or two.
        known = undefined;
        await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {});
      }
    }
    following = false;
    known = undefined;
  }

  return {
    onBlock(listener: () => void): BlockSubscription {
      listeners.add(listener);
      if (!following) void follow();
      return {
        newestBlock: () => (known === undefined ? undefined : BigInt(known)),
        stop: () => void listeners.delete(listener),
      };
    },
    stop: () => stopping.abort(),
  };
}

/** The chain answers when its newest block differs from `known`, or after a few seconds. */
async function awaitBlock(url: string, known: Hex | undefined, stopping: AbortSignal): Promise<Hex> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'sandbox_awaitBlock', params: [known ?? null] });
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(answersWithinMs)]);
  const answer = await request(url, { method: 'POST', headers, body, signal });
  const { result } = (await answer.body.json()) as { result?: unknown };
  if (!isHex(result)) throw new Error('the chain does not tell of its blocks');
  return result;
}
