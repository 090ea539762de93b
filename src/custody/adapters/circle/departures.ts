import { AsyncLocalStorage } from 'node:async_hooks';
import axios from 'axios';
import type { Turnstile } from './turnstile.ts';

/** An answer of Circle's is a few kilobytes; two hundred wallets are below a hundred. */
const maxAnswerBytes = 4 * 1024 * 1024;

/** What holds for a request of ours. */
export interface Departure {
  readonly turnstile: Turnstile;
  /** From when it leaves to when the answer is here. Then its connection is ended. */
  readonly timeoutMs: number;
}

const current = new AsyncLocalStorage<Departure>();
let listening = false;

/**
 * Runs a call of the SDK whose request waits for its turn and is ended when time is up. The SDK knows neither, but it
 * sends with axios' default instance, which shows us each request at the moment it leaves: after the SDK has sealed the
 * secret, which takes it a while.
 */
export function withDeparture<Result>(departure: Departure, call: () => Promise<Result>): Promise<Result> {
  listen();
  return current.run(departure, call);
}

function listen(): void {
  if (listening) return;
  listening = true;
  axios.interceptors.request.use(async (request) => {
    const departure = current.getStore();
    // Requests of others are none of our business.
    if (departure === undefined) return request;
    await departure.turnstile.pass();
    request.signal = AbortSignal.timeout(departure.timeoutMs);
    // An API does not redirect, and our key goes nowhere else.
    request.maxRedirects = 0;
    request.maxContentLength = maxAnswerBytes;
    return request;
  });
}
