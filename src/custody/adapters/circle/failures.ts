import { HttpRequestError, HttpResponseError } from '@circle-fin/developer-controlled-wallets';
import { ProviderError } from '../../wallets/provider.ts';
import { UnreadableAnswer } from './answers.ts';

/** A failed call: the error for our caller, and whether an immediate retry can help. */
export interface Failure {
  readonly error: ProviderError;
  readonly passing: boolean;
}

interface Meaning {
  readonly code: string;
  readonly text: string;
  /** `refused`: for good. `later`: the same request may succeed later. `again`: it may succeed now. */
  readonly when: 'refused' | 'later' | 'again';
  readonly retryAfterMs?: number;
}

/** The operator has to act first. */
const operatorMs = 60_000;

const noFunds: Meaning = {
  code: 'insufficient_funds',
  text: 'The wallet holds less than the amount',
  when: 'refused',
};
const noGas: Meaning = {
  code: 'insufficient_gas',
  text: 'The wallet does not have enough native coin for gas',
  when: 'later',
  retryAfterMs: operatorMs,
};
const badSecret: Meaning = {
  code: 'provider_misconfigured',
  text: 'Circle does not accept our entity secret; check CIRCLE_ENTITY_SECRET',
  when: 'later',
  retryAfterMs: operatorMs,
};
const badKey: Meaning = {
  code: 'provider_misconfigured',
  text: 'Circle does not accept our API key for this; check CIRCLE_API_KEY',
  when: 'later',
  retryAfterMs: operatorMs,
};

/**
 * Circle's error codes. Anything an operator can fix is not refused for good: an earlier attempt without an answer may
 * have been carried out, so the caller must not conclude that nothing was sent.
 */
const meanings: Readonly<Record<number, Meaning>> = {
  [-1]: { code: 'provider_trouble', text: 'Circle failed without a reason', when: 'again' },
  3: badKey,
  155201: noFunds,
  155202: { code: 'nonce_conflict', text: 'Circle reports a nonce conflict', when: 'later' },
  155204: noGas,
  155207: noGas,
  155208: { code: 'rejected', text: 'The contract reverts', when: 'refused' },
  155210: { code: 'estimate_failed', text: 'Circle could not estimate the fee', when: 'later' },
  155211: { code: 'gas_too_dear', text: 'The gas price is above Circle’s limit', when: 'later' },
  155219: { code: 'invalid_destination', text: 'Circle does not send to this address', when: 'refused' },
  155258: noFunds,
  155264: {
    code: 'queue_full',
    text: 'The wallet has too many pending transactions',
    when: 'later',
    retryAfterMs: 15_000,
  },
  156001: { code: 'wallet_not_found', text: 'Circle does not know this wallet', when: 'refused' },
  156003: { code: 'transaction_not_found', text: 'Circle does not know this transaction', when: 'refused' },
  156004: { code: 'provider_trouble', text: 'Circle rejected the encrypted secret as reused', when: 'again' },
  156006: badKey,
  156007: badKey,
  156013: badSecret,
  156016: badSecret,
  156019: badSecret,
};

export type Redact = (text: string) => string;

/**
 * The SDK's errors contain the request with the API key in its headers, so only numbers and Circle's message are kept.
 */
export function toFailure(thrown: unknown, redact: Redact): Failure {
  if (thrown instanceof ProviderError) return { error: thrown, passing: false };
  if (thrown instanceof HttpResponseError) return fromAnswer(thrown, redact);
  if (thrown instanceof HttpRequestError) {
    const why = thrown.code === 'ERR_CANCELED' ? 'did not answer in time' : `cannot be reached (${shortCode(thrown)})`;
    return passingFailure('provider_unreachable', `Circle ${why}.`);
  }
  // The SDK throws on some responses that are not Circle's, such as a proxy's page; others do not match our schema.
  const where = thrown instanceof UnreadableAnswer ? `: ${thrown.message}` : '';
  return passingFailure('provider_trouble', `Circle sent an unexpected response${where}.`);
}

function fromAnswer(thrown: HttpResponseError, redact: Redact): Failure {
  const { status } = thrown;
  // For a body that is not JSON the SDK uses the status as the code.
  const code = Number.isSafeInteger(thrown.code) ? thrown.code : status;
  const known = meanings[code] ?? byStatus(status);
  const said = redact(String(thrown.message ?? '')).slice(0, 200);
  if (known === undefined) {
    // This is no proof that nothing was sent: something was, with this key.
    if (/idempoten/i.test(said)) {
      return failure({
        code: 'idempotency_mismatch',
        text: 'Circle knows this idempotency key from another request',
        when: 'refused',
      });
    }
    return failure({
      code: 'rejected',
      text: `Circle refuses it (code ${code}${said === '' ? '' : `: ${said}`})`,
      when: 'refused',
    });
  }
  const retryAfterMs = retryAfterOf(thrown) ?? known.retryAfterMs;
  return failure({
    ...known,
    text: `${known.text} (status ${status}, code ${code})`,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

function byStatus(status: number): Meaning | undefined {
  if (status === 401 || status === 403) return badKey;
  if (status === 429) return { code: 'provider_busy', text: 'Circle limits our requests', when: 'again' };
  if (status >= 500) return { code: 'provider_trouble', text: 'Circle has an internal error', when: 'again' };
  // The first request with this key may still be running.
  if (status === 408 || status === 409 || status === 425) {
    return { code: 'provider_trouble', text: 'Circle did not finish the request', when: 'again' };
  }
  return undefined;
}

function failure({ code, text, when, retryAfterMs }: Meaning): Failure {
  return {
    error: new ProviderError(`${text}.`, { code, retryable: when !== 'refused', retryAfterMs }),
    passing: when === 'again',
  };
}

function passingFailure(code: string, message: string): Failure {
  return { error: new ProviderError(message, { code, retryable: true }), passing: true };
}

function shortCode({ code }: HttpRequestError): string {
  return typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code) ? code : 'no code';
}

/** The same error as retryable, where it proves nothing. */
export function asRetryable(error: ProviderError): ProviderError {
  return error.retryable ? error : new ProviderError(error.message, { retryable: true, code: error.code });
}

/** Seconds or a date. Absurdly long values are capped. */
function retryAfterOf({ error }: HttpResponseError): number | undefined {
  const header: unknown = error?.response?.headers?.['retry-after'];
  if (typeof header !== 'string' || header === '') return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), 10 * 60_000) : undefined;
}
