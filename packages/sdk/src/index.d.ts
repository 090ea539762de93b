import type { CreateWebhookInput, Namespaces, PayForCallInput, PayForCallPaid } from './generated/operations.js';

export type * from './generated/operations.js';

export interface PaywrightOptions {
  /** Begins with pa_live_. Only registering and a few questions do without it. */
  readonly apiKey?: string | undefined;
  /** With the path of the API: https://pay.example.com/api */
  readonly baseUrl: string;
  /** How often a call is repeated after 429, 503 or a lost connection. 4 by default. */
  readonly maxRetries?: number | undefined;
  /** How long one attempt may stay without an answer. 60,000 by default. */
  readonly timeoutMs?: number | undefined;
  /**
   * Refuses a payment that repeats one of the last ten minutes with `possible_duplicate`. On by default. Turn it off only in a program
   * that means every payment it makes and keeps its own idempotency keys.
   */
  readonly duplicateGuard?: boolean | undefined;
  /** Instead of the global one. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly maxRetries?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface IdempotentOptions extends CallOptions {
  /** A new one by default. Pass that of an error, or your own, to get the outcome of a call instead of making another one. */
  readonly idempotencyKey?: string | undefined;
}

export interface VersionedOptions extends CallOptions {
  /** The entity tag that you read, in quotes. If it has changed since, nothing is changed. */
  readonly ifMatch?: string | undefined;
}

/** `await` gets the first page, `for await` all items. */
export interface List<Page, Item> extends AsyncIterable<Item>, PromiseLike<Page> {}

export interface PaywrightErrorFacts {
  readonly code: string;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly members?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

export class PaywrightError extends Error {
  constructor(message: string, facts: PaywrightErrorFacts);
  readonly name: 'PaywrightError';
  /**
   * The service's code, or one of ours: `connection_lost`, `timeout`, `unexpected_response` (not from Paywright), `redirected`,
   * `stream_failed`, `webhook_not_verified`.
   */
  readonly code: string;
  /** 0 if there was no answer. */
  readonly status: number;
  readonly requestId: string | undefined;
  /** How long the service asks to wait. */
  readonly retryAfterMs: number | undefined;
  /** That of the call, if it takes one. With it, the same call gets the outcome and does nothing twice. */
  idempotencyKey: string | undefined;
  /** The other members of the problem. */
  readonly [member: string]: unknown;
}

export interface PaidFetchOptions extends Omit<RequestInit, 'body'> {
  /** The most that the call may cost, in USDC. */
  readonly maxAmount: PayForCallInput['maxAmount'];
  /** Text, because it may have to be sent twice. */
  readonly body?: string | URLSearchParams | null;
  readonly note?: PayForCallInput['note'];
  readonly notDuplicateOf?: PayForCallInput['notDuplicateOf'];
  readonly idempotencyKey?: string | undefined;
}

/** `truncated` says that the service cut the body of a paid answer. */
export type PaidResponse = Response & Pick<PayForCallPaid, 'paid' | 'payment' | 'truncated'>;

export interface Paywright extends Namespaces {
  /**
   * Fetches a URL. If it answers 402, the service calls it and pays at most `maxAmount` USDC from your balance. Your API key is never
   * sent to the URL.
   */
  fetch(url: string | URL, options: PaidFetchOptions): Promise<PaidResponse>;
}

export declare const Paywright: { new (options: PaywrightOptions): Paywright };

export interface WebhookEvent {
  readonly id: string;
  readonly type: CreateWebhookInput['events'][number];
  readonly createdAt: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Resolves to the event if its signature is valid and not older than five minutes, and throws a PaywrightError otherwise. Pass the body
 * as it arrived, not parsed.
 */
export function verifyWebhook(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>,
  secret: string,
): Promise<WebhookEvent>;
