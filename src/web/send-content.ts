import { createHash } from 'node:crypto';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A response that stays the same while the process runs, kept in memory. */
export interface Content {
  readonly bytes: Buffer;
  /** Compressed variants, best first. */
  readonly codings: readonly { readonly name: string; readonly bytes: Buffer }[];
  readonly type: string;
  readonly etag: string;
}

export function createContent(bytes: Buffer, type: string): Content {
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  // A weak tag, because it covers the plain and the compressed bytes.
  const codings = [
    { name: 'br', bytes: brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }) },
    { name: 'gzip', bytes: gzipSync(bytes, { level: 9 }) },
  ];
  return { bytes, type, codings, etag: `W/"${digest}"` };
}

/** A higher quality takes ten times as long and saves 5 %. */
const brotliQuality = 6;

export function sendContent(
  request: FastifyRequest,
  reply: FastifyReply,
  content: Content,
  cacheControl: string,
): FastifyReply {
  reply.headers({ ETag: content.etag, 'Cache-Control': cacheControl, Vary: 'Accept-Encoding' });
  if (matches(request.headers['if-none-match'], content.etag)) return reply.code(304).send();
  reply.type(content.type);
  const coding = content.codings.find(({ name }) => takes(request.headers['accept-encoding'], name));
  if (coding === undefined) return reply.send(content.bytes);
  return reply.header('Content-Encoding', coding.name).send(coding.bytes);
}

function matches(header: string | undefined, etag: string): boolean {
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '');
  return (header ?? '').split(',').some((tag) => tag.trim() === '*' || opaque(tag) === opaque(etag));
}

function takes(header: string | undefined, coding: string): boolean {
  return (header ?? '').split(',').some((accepted) => {
    const [name = '', ...parameters] = accepted.split(';').map((part) => part.trim().toLowerCase());
    return name === coding && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}
