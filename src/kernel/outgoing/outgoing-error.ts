type OutgoingErrorCode = 'refused' | 'timeout' | 'unreachable' | 'too_large' | 'given_up';

/** The message is a sentence that users may see. It contains no credentials and no address that the user did not give. */
export class OutgoingError extends Error {
  override readonly name = 'OutgoingError';
  readonly code: OutgoingErrorCode;
  /** Whether certainly nothing was sent. Internal only; users do not see it. */
  readonly neverSent: boolean;

  constructor(code: OutgoingErrorCode, message: string, { neverSent = code === 'refused' } = {}) {
    super(message);
    this.code = code;
    this.neverSent = neverSent;
  }
}

/**
 * A name with a private address, an unknown name and a silent host all get this error, so that callers cannot probe
 * which names our resolver knows inside our network.
 */
export function hostUnreachable(): OutgoingError {
  return new OutgoingError('unreachable', 'The host could not be reached.', { neverSent: true });
}

const unconnected = new Set(
  `ECONNREFUSED EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN EADDRNOTAVAIL EACCES ENOTFOUND UND_ERR_CONNECT_TIMEOUT`.split(
    ' ',
  ),
);

const closedEarly = 'The host closed the connection before it answered.';
const untrustedSigner = "The host's certificate is not signed by a trusted authority.";

const sentences: Readonly<Record<string, string>> = {
  ECONNRESET: closedEarly,
  EPIPE: closedEarly,
  UND_ERR_SOCKET: closedEarly,
  ERR_TLS_CERT_ALTNAME_INVALID: "The host's certificate is for another name.",
  CERT_HAS_EXPIRED: "The host's certificate has expired.",
  DEPTH_ZERO_SELF_SIGNED_CERT: "The host's certificate is self-signed.",
  SELF_SIGNED_CERT_IN_CHAIN: untrustedSigner,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrustedSigner,
};

/** Messages of the network library contain resolved addresses, so they are never passed on, not even as a cause. */
export function toOutgoingError(error: unknown): OutgoingError {
  if (error instanceof OutgoingError) return error;
  const code = String((error as { code?: unknown } | undefined)?.code ?? '');
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return new OutgoingError('too_large', 'The headers of the response are too large.');
  if (code === 'UND_ERR_INVALID_ARG') {
    return new OutgoingError('refused', 'The request cannot be sent: a header is not valid.');
  }
  if (unconnected.has(code)) return hostUnreachable();
  const sentence = sentences[code];
  if (sentence !== undefined) return new OutgoingError('unreachable', sentence);
  if (code.startsWith('HPE_')) return new OutgoingError('unreachable', 'The host did not answer with valid HTTP.');
  const shown = /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? ` (${code})` : '';
  return new OutgoingError('unreachable', `The host could not be reached${shown}.`);
}
