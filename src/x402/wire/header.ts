import { isUtf8 } from 'node:buffer';
import { parse } from 'secure-json-parse';
import { isTooDeep } from '../../kernel/text/json-depth.ts';

/** The headers of both versions, in lower case as Node has them. */
export const headerNames = {
  1: { payment: 'x-payment', receipt: 'x-payment-response' },
  2: { required: 'payment-required', payment: 'payment-signature', receipt: 'payment-response' },
} as const;

/** A header holds JSON in base64. */
export function encodeHeader(content: unknown): string {
  return Buffer.from(JSON.stringify(content)).toString('base64');
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Undefined when it is not JSON in base64, is nested too deep, or names what would change an object's prototype. */
export function decodeHeader(text: string): unknown {
  if (!base64.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  if (!isUtf8(bytes)) return undefined;
  const json = bytes.toString('utf8');
  if (isTooDeep(json)) return undefined;
  try {
    return parse(json, { protoAction: 'error', constructorAction: 'error' });
  } catch {
    return undefined;
  }
}
