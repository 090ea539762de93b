import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';

export type BlockFollower = ReturnType<typeof followBlocks>;

const pauseMs = 500;

/** Notifies any number of listeners of new blocks. Long-polls the chain while there are any. */
export function followBlocks(url: string) {
  const listeners = new Set<() => void>();
  const stopping = new AbortController();
  const { signal } = stopping;
  let following = false;

  async function follow(): Promise<void> {
    following = true;
    let known: unknown;
    while (listeners.size > 0 && !signal.aborted) {
      try {
        const askedAt = performance.now();
        const newest = await awaitBlock(url, known, signal);
        if (newest !== known) for (const listener of listeners) listener();
        else if (performance.now() - askedAt < pauseMs) throw new Error('the chain does not wait for its next block');
        known = newest;
      } catch {
        // The process that runs the chains is gone; another takes over within a second or two.
        await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {});
      }
    }
    following = false;
  }

  return {
    /** Returns a function that stops listening. */
    onBlock(listener: () => void): () => void {
      listeners.add(listener);
      if (!following) void follow();
      return () => void listeners.delete(listener);
    },
    stop: () => stopping.abort(),
  };
}

/** The chain answers when its newest block differs from `known`, or after a few seconds. */
async function awaitBlock(url: string, known: unknown, signal: AbortSignal): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'sandbox_awaitBlock', params: [known ?? null] });
  const answer = await request(url, { method: 'POST', headers, body, signal });
  const { result } = (await answer.body.json()) as { result?: unknown };
  if (result === undefined) throw new Error('the chain does not tell of its blocks');
  return result;
}
