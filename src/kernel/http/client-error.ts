import type { Socket } from 'node:net';
import { newId } from '../ids/ids.ts';
import { httpErrors } from './errors.ts';

interface ParserError extends Error {
  readonly code?: string;
}

const statusOf: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The headers of this request are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive completely within 30 seconds.'],
};

/** Answers malformed HTTP, which never becomes a request, with the same problem format as everything else. */
export function answerClientError(error: ParserError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { title, code } = httpErrors.invalid_request;
  const [status, detail] = statusOf[error.code ?? ''] ?? [400, 'This is not a valid HTTP request.'];
  const body = JSON.stringify({ type: 'about:blank', title, status, detail, code, requestId: newId('req') });
  socket.end(
    [
      `HTTP/1.1 ${status} Invalid`,
      'Content-Type: application/problem+json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}
