type OutgoingErrorCode = 'refused' | 'timeout' | 'unreachable' | 'too_large' | 'given_up';

/** Its message is a whole sentence that a user may read: it names no credentials and no address that the user did not give. */
export class OutgoingError extends Error {
  override readonly name = 'OutgoingError';
  readonly code: OutgoingErrorCode;

  constructor(code: OutgoingErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

const sentences: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The host refused the connection.',
  ECONNRESET: 'The host ended the connection before it had answered.',
  EPIPE: 'The host ended the connection before it had answered.',
  UND_ERR_SOCKET: 'The host ended the connection before it had answered.',
  UND_ERR_CONNECT_TIMEOUT: 'The host did not accept the connection in time.',
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
  const sentence = sentences[code];
  if (sentence !== undefined) return new OutgoingError('unreachable', sentence);
  if (code.startsWith('HPE_')) return new OutgoingError('unreachable', 'The host did not answer in HTTP.');
  const shown = /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? ` (${code})` : '';
  return new OutgoingError('unreachable', `The host could not be reached${shown}.`);
}
