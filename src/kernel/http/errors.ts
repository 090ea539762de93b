import { defineErrors } from './problem.ts';

/** Errors that any route may answer with. */
export const httpErrors = defineErrors({
  invalid_request: {
    status: 400,
    title: 'Invalid request',
    detail: 'The request does not have the form that this operation asks for; `errors` says where.',
  },
  unauthorized: {
    status: 401,
    title: 'A valid API key is needed',
    detail: 'Send the header "Authorization: Bearer <API key>" with a key that was neither revoked nor has expired.',
  },
  scope_required: {
    status: 403,
    title: 'The key may not do this',
    detail:
      'The key is valid and may do less than this operation needs; `scope` says what is missing. Use a key that may, or sign in for one that may do everything.',
  },
  forbidden: { status: 403, title: 'Not allowed', detail: 'This is not allowed for your account.' },
  not_found: { status: 404, title: 'Not found', detail: 'There is nothing at this address.' },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    detail: 'This address exists, but not for this method; the Allow header names the ones it takes.',
  },
  conflict: { status: 409, title: 'Conflict', detail: 'The present state does not allow this.' },
  idempotency_in_progress: {
    status: 409,
    title: 'The first request with this Idempotency-Key is still running',
    detail: 'Wait a moment and send the same request again: you will get the answer of the first one.',
  },
  payload_too_large: { status: 413, title: 'Body too large', detail: 'A request body may hold at most 64 KiB.' },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    detail: 'The body is not sent as JSON. Send JSON with the header "Content-Type: application/json".',
  },
  idempotency_mismatch: {
    status: 422,
    title: 'Idempotency-Key used for another request',
    detail: 'This Idempotency-Key already belongs to a different request. Use a new key for a new request.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    detail: 'The limit of requests a minute is reached. Retry-After says how many seconds to wait.',
  },
  internal_error: {
    status: 500,
    title: 'Something went wrong on our side',
    detail:
      'The fault is ours and has been logged under this requestId. Retrying with the same Idempotency-Key is safe.',
  },
  outcome_unknown: {
    status: 503,
    title: 'The outcome is not known',
    detail:
      'The connection to the database was lost while this was being written, so it happened or it did not. Send the same request with the same Idempotency-Key: you will get its answer. Without a key, look at your history first.',
  },
  unavailable: {
    status: 503,
    title: 'Unavailable for a moment',
    detail: 'The service cannot answer right now. Retrying with the same Idempotency-Key is safe.',
  },
});
