import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CircleDeveloperControlledWalletsClient,
  initiateDeveloperControlledWalletsClient,
} from '@circle-fin/developer-controlled-wallets';
import { z } from 'zod';
import { monotonicClock } from '../../../kernel/clock.ts';
import type { Logger } from '../../../kernel/log/logger.ts';
import { ProviderError } from '../../wallets/provider.ts';
import { readAnswer } from './answers.ts';
import { withDeparture } from './departures.ts';
import { notForCertain, toFailure } from './failures.ts';
import { createTurnstile, type Turnstile } from './turnstile.ts';

type Call = (sdk: CircleDeveloperControlledWalletsClient) => Promise<{ readonly data?: unknown }>;

/** Asks, and reads the answer as this schema says. */
type Ask = <Schema extends z.ZodType>(schema: Schema, call: Call) => Promise<z.output<Schema>>;

/** The one door to Circle: every call has a time-out, keeps to Circle's limits, and is repeated where that can help. */
export interface CircleClient {
  readonly read: Ask;
  /** Only for what can be repeated: with an idempotency key that is written down, or without any effect. */
  readonly write: Ask;
}

export interface CircleClientOptions {
  readonly apiKey: string;
  readonly entitySecret: string;
  /** Circle's own servers unless a test stands in for them. */
  readonly baseUrl?: string | undefined;
  readonly logger: Logger;
  readonly limits?: Partial<CallLimits>;
}

export interface CallLimits {
  /** One try. */
  readonly timeoutMs: number;
  /** All tries of a call together, and what lies between them. */
  readonly totalMs: number;
  readonly tries: number;
  /** How long the first pause between two tries is at most; each further one is twice as long. */
  readonly pauseMs: number;
  readonly writesPerSecond: number;
  readonly readsPerSecond: number;
  /** How long a call may wait for its turn. */
  readonly maxWaitMs: number;
}

/** All of it is well below the time that a job may take. */
const usualLimits: CallLimits = {
  timeoutMs: 8_000,
  totalMs: 15_000,
  tries: 4,
  pauseMs: 400,
  writesPerSecond: 5,
  readsPerSecond: 20,
  maxWaitMs: 5_000,
};

export function createCircleClient({
  apiKey,
  entitySecret,
  baseUrl,
  logger,
  limits,
}: CircleClientOptions): CircleClient {
  const usual = { ...usualLimits, ...limits };
  const { timeoutMs, totalMs, tries, pauseMs, maxWaitMs } = usual;
  const redact = (text: string) => text.replaceAll(apiKey, '[redacted]').replaceAll(entitySecret, '[redacted]');

  /** Circle's public key, which the SDK seals the entity secret with, afresh for every write. */
  let sealingKey: Promise<string> | undefined;
  const sdk = initiateDeveloperControlledWalletsClient({
    apiKey,
    entitySecret,
    ...(baseUrl !== undefined && { baseUrl: baseUrl.replace(/\/+$/, '') }),
    // By itself the SDK would ask for the key beside our limits and time-outs.
    storage: { get: async () => (await fetchSealingKey()) as never, set: async () => {} },
  });

  async function repeated<Schema extends z.ZodType>(turnstile: Turnstile, schema: Schema, call: Call) {
    const started = monotonicClock.now();
    let outcomeUnknown = false;
    for (let attempt = 1; ; attempt++) {
      try {
        return readAnswer(schema, (await withDeparture({ turnstile, timeoutMs }, () => call(sdk))).data);
      } catch (thrown) {
        const { error, passing } = toFailure(thrown, redact);
        // A refusal that follows a try without an answer proves nothing yet: that try may still be carried out. Whoever asks
        // again later, with the same key, learns which it was.
        if (!passing) throw outcomeUnknown ? notForCertain(error) : error;
        if (error.code === 'provider_busy') turnstile.hold(error.retryAfterMs ?? 1_000);
        else outcomeUnknown = true;
        const waitMs = pauseBefore(attempt + 1, pauseMs, error);
        if (attempt === tries || monotonicClock.now() - started + waitMs > totalMs) throw error;
        logger.debug({ errorCode: error.code, attempt }, 'Circle is asked again');
        await sleep(waitMs);
      }
    }
  }

  /** No more calls at once than can have their turn and their answer in time, so that a flood is turned away unsealed. */
  function asking(perSecond: number): Ask {
    const turnstile = createTurnstile({ perSecond, maxWaitMs });
    const most = Math.ceil((perSecond * (maxWaitMs + timeoutMs)) / 1000);
    let inHand = 0;
    return async (schema, call) => {
      if (inHand >= most) {
        throw new ProviderError('Too many requests to Circle are under way already.', {
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
        // Perhaps Circle has another key by now.
        if (error instanceof ProviderError && error.code === 'provider_misconfigured') sealingKey = undefined;
        throw error;
      });
    },
  };
}

const publicKeyAnswer = z.object({ publicKey: z.string().includes('PUBLIC KEY') });

/** Up to twice as long before each further try, and never for all callers alike. */
function pauseBefore(attempt: number, pauseMs: number, { retryAfterMs = 0 }: ProviderError): number {
  const longest = pauseMs * 2 ** (attempt - 2);
  return Math.max(retryAfterMs, longest * (0.5 + Math.random() / 2));
}
