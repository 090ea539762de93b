import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Something that is the same for everybody as long as the process runs: made once, kept in memory. */
export interface Content {
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
  readonly type: string;
  readonly etag: string;
}

export function createContent(bytes: Buffer, type: string): Content {
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  // Weak, because one tag stands for the bytes both as they are and compressed.
  return { bytes, type, gzipped: gzipSync(bytes, { level: 9 }), etag: `W/"${digest}"` };
}

/** Answers 304 to a browser that has it already, and compressed to one that takes it so. */
export function sendContent(
  request: FastifyRequest,
  reply: FastifyReply,
  content: Content,
  cacheControl: string,
): FastifyReply {
  reply.headers({ ETag: content.etag, 'Cache-Control': cacheControl, Vary: 'Accept-Encoding' });
  if (matches(request.headers['if-none-match'], content.etag)) return reply.code(304).send();
  reply.type(content.type);
  if (!takesGzip(request.headers['accept-encoding'])) return reply.send(content.bytes);
  return reply.header('Content-Encoding', 'gzip').send(content.gzipped);
}

function matches(header: string | undefined, etag: string): boolean {
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '');
  return (header ?? '').split(',').some((tag) => tag.trim() === '*' || opaque(tag) === opaque(etag));
}

function takesGzip(header = ''): boolean {
  return header.split(',').some((coding) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(coding));
}
