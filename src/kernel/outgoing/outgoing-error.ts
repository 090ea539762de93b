type OutgoingErrorCode = 'refused' | 'timeout' | 'unreachable' | 'too_large' | 'given_up';

/** Its message is a whole sentence that a user may read: it names no credentials and no address that the user did not give. */
export class OutgoingError extends Error {
  override readonly name = 'OutgoingError';
  readonly code: OutgoingErrorCode;
  /** Whether it is certain that there was no connection to send anything over. For us alone: no user is told. */
  readonly neverSent: boolean;

  constructor(code: OutgoingErrorCode, message: string, { neverSent = code === 'refused' } = {}) {
    super(message);
    this.code = code;
    this.neverSent = neverSent;
  }
}

/**
 * A name that leads to a private address, one that leads nowhere, and a host where nobody answers: all of them are told alike, so
 * that nobody learns from us which names our resolver knows and what they mean inside the network that we stand in.
 */
export function nobodyThere(): OutgoingError {
  return new OutgoingError('unreachable', 'The host could not be reached.', { neverSent: true });
}

/** There was never a connection. */
const unconnected = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'EACCES',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
]);

const sentences: Readonly<Record<string, string>> = {
  ECONNRESET: 'The host ended the connection before it had answered.',
  EPIPE: 'The host ended the connection before it had answered.',
  UND_ERR_SOCKET: 'The host ended the connection before it had answered.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate of the host is for another name.',
  CERT_HAS_EXPIRED: 'The certificate of the host has expired.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate of the host is signed by itself.',
  SELF_SIGNED_CERT_IN_CHAIN: 'The certificate of the host is not signed by anybody we know.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The certificate of the host is not signed by anybody we know.',
};

/** Messages of the network library hold resolved addresses, so none of them is passed on, not even as a cause. */
export function toOutgoingError(error: unknown): OutgoingError {
  if (error instanceof OutgoingError) return error;
  const code = String((error as { code?: unknown } | undefined)?.code ?? '');
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return new OutgoingError('too_large', 'The answer has too many headers.');
  if (code === 'UND_ERR_INVALID_ARG') {
    return new OutgoingError('refused', 'The request cannot be sent: a header is not valid.');
  }
  if (unconnected.has(code)) return nobodyThere();
  const sentence = sentences[code];
  if (sentence !== undefined) return new OutgoingError('unreachable', sentence);
  if (code.startsWith('HPE_')) return new OutgoingError('unreachable', 'The host did not answer in HTTP.');
  const shown = /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? ` (${code})` : '';
  return new OutgoingError('unreachable', `The host could not be reached${shown}.`);
}
