import type { Readable } from 'node:stream';
import { OutgoingError } from './outgoing-error.ts';

/** Reads at most `maxBytes`. An unread rest closes the connection. */
export async function readBody(
  body: Readable,
  { maxBytes, truncate }: { maxBytes: number; truncate: boolean },
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Truncating makes the stream fail, which is intended.
  body.on('error', () => {});
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size <= maxBytes) continue;
    if (!truncate) throw new OutgoingError('too_large', `The response is larger than ${maxBytes} bytes.`);
    break;
  }
  return Buffer.concat(chunks, Math.min(size, maxBytes));
}
