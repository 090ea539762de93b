import type { IncomingMessage } from 'node:http';

const mostBodyBytes = 1024 * 1024;

/** Undefined when it is too long. The rest is still read, so that the caller gets to see the answer. */
export async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= mostBodyBytes) chunks.push(chunk);
  }
  return bytes > mostBodyBytes ? undefined : Buffer.concat(chunks).toString('utf8');
}
