import { isUtf8 } from 'node:buffer';
import { parse } from 'secure-json-parse';
import { isTooDeep } from '../../kernel/text/json-depth.ts';

/** In lower case, as Node delivers them. */
export const headerNames = {
  1: { payment: 'x-payment', receipt: 'x-payment-response' },
  2: { required: 'payment-required', payment: 'payment-signature', receipt: 'payment-response' },
} as const;

export function encodeHeader(content: unknown): string {
  return Buffer.from(JSON.stringify(content)).toString('base64');
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Undefined when the text is not base64 JSON, is nested too deeply, or would change an object's prototype. */
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
