import { isUtf8 } from 'node:buffer';
import type { SellerAnswer } from './ask-seller.ts';

export interface EncodedBody {
  readonly body: string;
  readonly encoding: 'utf8' | 'base64';
}

const textTypes =
  /^(?:text\/|[\w.-]+\/(?:[\w.-]+\+)?(?:json|xml|javascript|ecmascript|x-www-form-urlencoded|yaml|x-ndjson|graphql)(?:;|\s|$))/i;

/** Text stays text; anything else, including text with invalid bytes, is base64. */
export function encodeBody({ headers, body }: Pick<SellerAnswer, 'headers' | 'body'>): EncodedBody {
  const type = headers['content-type'];
  const isText = typeof type !== 'string' || textTypes.test(type);
  const charset = typeof type === 'string' ? /charset="?([\w-]+)/i.exec(type)?.[1] : undefined;
  const isOurs = charset === undefined || /^(?:utf-?8|us-ascii)$/i.test(charset);
  // PostgreSQL text cannot contain a zero character.
  if (isText && isOurs && isUtf8(body) && !body.includes(0)) return { body: body.toString('utf8'), encoding: 'utf8' };
  return { body: body.toString('base64'), encoding: 'base64' };
}
