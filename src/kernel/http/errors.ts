import { defineErrors } from './problem.ts';

export const httpErrors = defineErrors({
  invalid_request: {
    status: 400,
    title: 'Invalid request',
    detail:
      'The request is not valid for this operation. `errors` lists each invalid field and why; fix them and send it again.',
  },
  unauthorized: {
    status: 401,
    title: 'API key missing or invalid',
    detail:
      'The request has no API key, or the key is unknown, revoked or expired. Send the header "Authorization: Bearer <API key>" with a valid key.',
  },
  scope_required: {
    status: 403,
    title: 'Key lacks the required scope',
    detail:
      'The API key is valid but lacks the scope that this operation requires: `scope`. Use a key with that scope, or sign in to get a key with all scopes.',
  },
  forbidden: { status: 403, title: 'Not allowed', detail: 'Your account may not do this. Contact the operator.' },
  not_found: { status: 404, title: 'Not found', detail: 'Nothing exists at this URL. Check the path.' },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    detail: 'This URL does not support the request method. Use one of the methods in the Allow header.',
  },
  conflict: { status: 409, title: 'Conflict', detail: 'The current state does not allow this operation.' },
  idempotency_in_progress: {
    status: 409,
    title: 'Idempotent request in progress',
    detail:
      'The first request with this Idempotency-Key is still running. Wait a moment and send the same request again to get its response.',
  },
  payload_too_large: {
    status: 413,
    title: 'Request body too large',
    detail: 'The request body exceeds 64 KiB. Send a smaller one.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    detail: 'The request body was not sent as JSON. Send JSON with the header "Content-Type: application/json".',
  },
  idempotency_mismatch: {
    status: 422,
    title: 'Idempotency-Key already used',
    detail: 'This Idempotency-Key was used for a different request. Use a new key for each new request.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    detail: 'The rate limit per minute is reached. Wait the number of seconds in Retry-After, then try again.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    detail:
      'The service failed unexpectedly and logged the error under this requestId. Retrying with the same Idempotency-Key is safe.',
  },
  outcome_unknown: {
    status: 503,
    title: 'Outcome unknown',
    detail:
      'The database connection was lost during the commit, so the operation may or may not have happened. Send the same request with the same Idempotency-Key to get its result. Without a key, check your history before you retry.',
  },
  unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    detail: 'The service cannot process the request right now. Retrying with the same Idempotency-Key is safe.',
  },
});
