import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CircleDeveloperControlledWalletsClient,
  initiateDeveloperControlledWalletsClient,
} from '@circle-fin/developer-controlled-wallets';
import axios from 'axios';
import { z } from 'zod';
import { monotonicClock } from '../../../kernel/clock.ts';
import type { Logger } from '../../../kernel/log/logger.ts';
import { ProviderError } from '../../wallets/provider.ts';
import { readAnswer } from './answers.ts';
import { asRetryable, toFailure } from './failures.ts';
import { createThrottle, type Throttle } from './throttle.ts';

/** Circle's responses are a few kilobytes; two hundred wallets take less than a hundred. */
const maxAnswerBytes = 4 * 1024 * 1024;

interface Departure {
  readonly turnstile: Throttle;
  /** From sending the request to its full response. Afterwards the connection is closed. */
  readonly timeoutMs: number;
}

const current = new AsyncLocalStorage<Departure>();
let listening = false;

/**
 * The request of an SDK call waits for the rate limit and has a timeout. The SDK supports neither, but it sends through
 * axios' default instance, whose interceptor runs when the request leaves: after the SDK has encrypted the secret,
 * which takes a while.
 */
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

type Call = (sdk: CircleDeveloperControlledWalletsClient) => Promise<{ readonly data?: unknown }>;

type Ask = <Schema extends z.ZodType>(schema: Schema, call: Call) => Promise<z.output<Schema>>;

/**
 * The only way to Circle: every call has a timeout, respects Circle's rate limits, and is retried where that can help.
 */
export interface CircleClient {
  readonly read: Ask;
  /** Only for repeatable calls: with a stored idempotency key, or without effect. */
  readonly write: Ask;
}

/** The operator's account at Circle. */
export interface CircleSettings {
  readonly apiKey: string;
  readonly entitySecret: string;
  /** Default: Circle's own servers. */
  readonly baseUrl?: string | undefined;
}

export interface CircleClientOptions extends CircleSettings {
  readonly logger: Logger;
  readonly limits?: Partial<CallLimits>;
}

export interface CallLimits {
  /** Per attempt. */
  readonly timeoutMs: number;
  /** All attempts of a call together, including the pauses. */
  readonly totalMs: number;
  readonly tries: number;
  /** The longest first pause between two attempts; it doubles with each further one. */
  readonly pauseMs: number;
  readonly writesPerSecond: number;
  readonly readsPerSecond: number;
  /** How long a call may wait for the rate limit. */
  readonly maxWaitMs: number;
}

/** Well below a job's time limit. */
const usualLimits: CallLimits = {
  timeoutMs: 8_000,
  totalMs: 15_000,
  tries: 4,
  pauseMs: 400,
  writesPerSecond: 5,
  readsPerSecond: 20,
  maxWaitMs: 5_000,
};

export function createCircleClient(options: CircleClientOptions): CircleClient {
  const { apiKey, entitySecret, baseUrl, logger, limits } = options;
  listen();
  const usual = { ...usualLimits, ...limits };
  const { timeoutMs, totalMs, tries, pauseMs, maxWaitMs } = usual;
  const redact = (text: string) => text.replaceAll(apiKey, '[redacted]').replaceAll(entitySecret, '[redacted]');

  /** Circle's public key, with which the SDK encrypts the entity secret anew for every write. */
  let sealingKey: Promise<string> | undefined;
  const sdk = initiateDeveloperControlledWalletsClient({
    apiKey,
    entitySecret,
    ...(baseUrl !== undefined && { baseUrl: baseUrl.replace(/\/+$/, '') }),
    // The SDK would fetch the key outside our limits and timeouts.
    storage: { get: async () => (await fetchSealingKey()) as never, set: async () => {} },
  });

  async function repeated<Schema extends z.ZodType>(turnstile: Throttle, schema: Schema, call: Call) {
    const started = monotonicClock.now();
    let outcomeUnknown = false;
    for (let attempt = 1; ; attempt++) {
      try {
        return readAnswer(schema, (await current.run({ turnstile, timeoutMs }, () => call(sdk))).data);
      } catch (thrown) {
        const { error, passing } = toFailure(thrown, redact);
        // A refusal after an attempt without an answer proves nothing: that attempt may still be carried out. A later
        // request with the same key shows which it was.
        if (!passing) throw outcomeUnknown ? asRetryable(error) : error;
        if (error.code === 'provider_busy') turnstile.hold(error.retryAfterMs ?? 1_000);
        else outcomeUnknown = true;
        const waitMs = pauseBefore(attempt + 1, pauseMs, error);
        if (attempt === tries || monotonicClock.now() - started + waitMs > totalMs) throw error;
        logger.debug({ errorCode: error.code, attempt }, 'Circle is asked again');
        await sleep(waitMs);
      }
    }
  }

  /**
   * Limits concurrent calls to those that can get their turn and their answer in time, so that excess calls are refused
   * before the costly encryption.
   */
  function asking(perSecond: number): Ask {
    const turnstile = createThrottle({ perSecond, maxWaitMs });
    const most = Math.ceil((perSecond * (maxWaitMs + timeoutMs)) / 1000);
    let inHand = 0;
    return async (schema, call) => {
      if (inHand >= most) {
        throw new ProviderError('Too many requests to Circle are in progress.', {
          retryable: true,
          code: 'provider_busy',
          retryAfterMs: maxWaitMs,
        });
      }
      inHand++;
      return repeated(turnstile, schema, call).finally(() => {
        inHand--;
      });
    };
  }

  const read = asking(usual.readsPerSecond);
  const writeSealed = asking(usual.writesPerSecond);

  function fetchSealingKey(): Promise<string> {
    sealingKey ??= read(publicKeyAnswer, (circle) => circle.getPublicKey()).then(
      ({ publicKey }) => publicKey,
      (error: unknown) => {
        sealingKey = undefined;
        throw error;
      },
    );
    return sealingKey;
  }

  return {
    read,
    async write(schema, call) {
      await fetchSealingKey();
      return writeSealed(schema, call).catch((error: unknown) => {
        // Circle may have rotated its key.
        if (error instanceof ProviderError && error.code === 'provider_misconfigured') sealingKey = undefined;
        throw error;
      });
    },
  };
}

const publicKeyAnswer = z.object({ publicKey: z.string().includes('PUBLIC KEY') });

/** Exponential backoff with jitter. */
function pauseBefore(attempt: number, pauseMs: number, { retryAfterMs = 0 }: ProviderError): number {
  const longest = pauseMs * 2 ** (attempt - 2);
  return Math.max(retryAfterMs, longest * (0.5 + Math.random() / 2));
}
