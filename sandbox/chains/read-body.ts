import type { IncomingMessage } from 'node:http';

const mostBodyBytes = 1024 * 1024;

/** Undefined if the body is too long. It is still read to the end, so that the client receives the response. */
export async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= mostBodyBytes) chunks.push(chunk);
  }
  return bytes > mostBodyBytes ? undefined : Buffer.concat(chunks).toString('utf8');
}
