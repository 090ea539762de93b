import type { Readable } from 'node:stream';
import { OutgoingError } from './outgoing-error.ts';

/** Reads no more than allowed. What is left unread ends the connection. */
export async function readBody(
  body: Readable,
  { maxBytes, truncate }: { maxBytes: number; truncate: boolean },
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Cutting it off makes the stream fail, which is what we want of it.
  body.on('error', () => {});
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size <= maxBytes) continue;
    if (!truncate) throw new OutgoingError('too_large', `The answer is larger than ${maxBytes} bytes.`);
    break;
  }
  return Buffer.concat(chunks, Math.min(size, maxBytes));
}
