import { AsyncLocalStorage } from 'node:async_hooks';
import axios from 'axios';

/** An answer of Circle's is a few kilobytes; two hundred wallets are below a hundred. */
const maxAnswerBytes = 4 * 1024 * 1024;

const current = new AsyncLocalStorage<AbortSignal>();
let listening = false;

/**
 * Runs a call of the SDK and ends its connection when time is up. The SDK knows no time-outs of its own, but it sends
 * with axios' default instance, which lets us see each request before it leaves.
 */
export async function withinTime<Result>(ms: number, call: () => Promise<Result>): Promise<Result> {
  listen();
  const signal = AbortSignal.timeout(ms);
  const tooLate = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new TimedOut()), { once: true });
  });
  return Promise.race([current.run(signal, call), tooLate]);
}

export class TimedOut extends Error {
  override readonly name = 'TimedOut';
}

function listen(): void {
  if (listening) return;
  listening = true;
  axios.interceptors.request.use((request) => {
    const signal = current.getStore();
    // Requests of others are none of our business.
    if (signal === undefined) return request;
    request.signal = signal;
    // An API does not redirect, and our key goes nowhere else.
    request.maxRedirects = 0;
    request.maxContentLength = maxAnswerBytes;
    return request;
  });
}
