import { isUtf8 } from 'node:buffer';
import type { SellerAnswer } from './ask-seller.ts';

export interface EncodedBody {
  readonly body: string;
  readonly encoding: 'utf8' | 'base64';
}

const textTypes =
  /^(?:text\/|[\w.-]+\/(?:[\w.-]+\+)?(?:json|xml|javascript|ecmascript|x-www-form-urlencoded|yaml|x-ndjson|graphql)(?:;|\s|$))/i;

/** Text as text, everything else as base64. What calls itself text and is none is told byte by byte too. */
export function encodeBody({ headers, body }: Pick<SellerAnswer, 'headers' | 'body'>): EncodedBody {
  const type = headers['content-type'];
  const isText = typeof type !== 'string' || textTypes.test(type);
  const charset = typeof type === 'string' ? /charset="?([\w-]+)/i.exec(type)?.[1] : undefined;
  const isOurs = charset === undefined || /^(?:utf-?8|us-ascii)$/i.test(charset);
  // PostgreSQL has no text with a zero character.
  if (isText && isOurs && isUtf8(body) && !body.includes(0)) return { body: body.toString('utf8'), encoding: 'utf8' };
  return { body: body.toString('base64'), encoding: 'base64' };
}
