import { json, type ShopReply } from '../message.ts';
import type { UcpVersion } from '../ucp-versions.ts';

/** A UCP message of type error. */
export interface Notice {
  readonly code: string;
  readonly content: string;
  readonly severity: 'recoverable' | 'requires_buyer_input' | 'unrecoverable';
  readonly path?: string;
}

/** Ends a request with this response. */
export class ShopRefusal extends Error {
  readonly reply: ShopReply;

  constructor(reply: ShopReply) {
    super('the demo shop refuses');
    this.reply = reply;
  }
}

const statuses = {
  invalid_request: 400,
  invalid_profile_url: 400,
  digest_mismatch: 400,
  algorithm_unsupported: 400,
  signature_missing: 401,
  signature_invalid: 401,
  key_not_found: 401,
  profile_not_trusted: 403,
  idempotency_conflict: 409,
  profile_malformed: 422,
  version_unsupported: 422,
  profile_unreachable: 424,
  unavailable: 503,
} as const;

/** A UCP protocol error: the checkout was not touched. */
export function protocolError(code: keyof typeof statuses, content: string): ShopRefusal {
  const status = statuses[code];
  const headers = status === 503 ? { headers: { 'Retry-After': '60' } } : {};
  return new ShopRefusal(json({ code, content }, { status, ...headers }));
}

/** A business outcome without a checkout to show. */
export function noSession(version: UcpVersion, notice: Notice): ShopRefusal {
  return new ShopRefusal(json({ ucp: { version, status: 'error' }, messages: [{ type: 'error', ...notice }] }));
}
