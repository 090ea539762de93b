import type { Clock } from '../kernel/clock.ts';
import type { Outgoing, OutgoingAnswer } from '../kernel/outgoing/outgoing.ts';
import { OutgoingError } from '../kernel/outgoing/outgoing-error.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import type { Claimed, DueWebhook } from './claim.ts';
import type { Attempted } from './recorder.ts';
import { nextStep, type RetrySeconds } from './retry-plan.ts';
import { signatureHeaders } from './sign-webhook.ts';

/** How much of a response body the delivery log keeps. */
const keptBytes = 1_024;

export interface AttemptParts {
  readonly outgoing: Outgoing;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly retrySeconds: RetrySeconds;
  readonly timeoutMs: number;
}

/** Sends one request to a receiver and decides the next step. Never throws. */
export async function attemptDelivery(parts: AttemptParts, webhook: DueWebhook, delivery: Claimed): Promise<Attempted> {
  const { clock, retrySeconds } = parts;
  const startedMs = clock.now();
  const answer = await send(parts, webhook, delivery, Math.floor(startedMs / 1_000)).catch(asFailure);
  const result = 'status' in answer ? asAnswered(answer) : answer;
  const attemptOfCycle = delivery.attemptsMade + 1;
  return {
    delivery,
    attemptedAt: new Date(startedMs),
    durationMs: 'status' in answer ? answer.durationMs : Math.max(0, clock.now() - startedMs),
    ...result,
    next: nextStep({ responseCode: result.responseCode, attemptOfCycle }, retrySeconds),
  };
}

async function send(
  { outgoing, secrets, timeoutMs }: AttemptParts,
  { url, sealedSecret }: DueWebhook,
  { eventId: id, body }: Claimed,
  timestampSeconds: number,
): Promise<OutgoingAnswer> {
  const secret = sealedSecret === null ? undefined : secrets.open('webhook-secrets', sealedSecret);
  return outgoing.request({
    method: 'POST',
    url,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Paywright',
      'webhook-id': id,
      'webhook-timestamp': String(timestampSeconds),
      ...(secret !== undefined && signatureHeaders(secret, { id, timestampSeconds, body })),
    },
    body,
    timeoutMs,
    maxBodyBytes: keptBytes,
    truncateBody: true,
  });
}

type Result = Pick<Attempted, 'responseCode' | 'error' | 'responseBody'>;

function asAnswered({ status, body }: OutgoingAnswer): Result {
  const failed = status < 200 || status > 299;
  const redirect = status >= 300 && status < 400;
  return {
    responseCode: status,
    error: failed ? `The receiver answered ${status}${redirect ? ', and redirects are not followed' : ''}.` : null,
    // PostgreSQL text cannot hold a zero character. Invalid UTF-8 has become U+FFFD.
    responseBody: body.length === 0 ? null : body.toString('utf8').replaceAll('\0', '\ufffd'),
  };
}

/** Only messages of the address guard are shown to users; other errors may reveal internals. */
function asFailure(error: unknown): Result {
  const sentence = error instanceof OutgoingError ? error.message : 'The request could not be made.';
  return { responseCode: null, error: sentence, responseBody: null };
}
