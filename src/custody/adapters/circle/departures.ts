import { AsyncLocalStorage } from 'node:async_hooks';
import axios from 'axios';
import type { Turnstile } from './turnstile.ts';

/** Circle's responses are a few kilobytes; two hundred wallets take less than a hundred. */
const maxAnswerBytes = 4 * 1024 * 1024;

export interface Departure {
  readonly turnstile: Turnstile;
  /** From sending the request to its full response. Afterwards the connection is closed. */
  readonly timeoutMs: number;
}

const current = new AsyncLocalStorage<Departure>();
let listening = false;

/**
 * Runs an SDK call whose request waits for the rate limit and has a timeout. The SDK supports neither, but it sends
 * through axios' default instance, whose interceptor runs when the request leaves: after the SDK has encrypted the
 * secret, which takes a while.
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
    // A request that is not ours.
    if (departure === undefined) return request;
    await departure.turnstile.pass();
    request.signal = AbortSignal.timeout(departure.timeoutMs);
    // Our key must not follow a redirect.
    request.maxRedirects = 0;
    request.maxContentLength = maxAnswerBytes;
    return request;
  });
}
