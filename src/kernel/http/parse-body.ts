import { isUtf8 } from 'node:buffer';
import { parse } from 'secure-json-parse';
import { isTooDeep, mostLevels } from '../text/json-depth.ts';
import { httpErrors } from './errors.ts';

/** Only such text needs the slower parser: it may contain a forbidden name, or an escape that could spell one. */
const mayNameAPrototype = /proto|\\u/;

/** Escapes of characters that PostgreSQL cannot store: NUL and unpaired surrogates. */
const suspiciousEscape = /\\u(?:0000|[dD][89a-fA-F])/;

/** Some programs begin every text with it. */
const byteOrderMark = '\uFEFF';

export function parseJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  const text = decode(bytes);
  if (isTooDeep(text)) throw httpErrors.invalid_request(`The body is nested deeper than ${mostLevels} levels.`);
  const value = parseText(text);
  if (suspiciousEscape.test(text)) refuseUnstorable(value);
  return value;
}

/** The default of curl -d. */
const formType = /^application\/x-www-form-urlencoded(?:\s*;|$)/i;

/**
 * Reads a body that is not declared as JSON. A JSON object without a Content-Type, or with curl -d's default, is
 * accepted. docs/decisions/0050-an-open-door.md says why that is safe and why text/plain and multipart stay refused.
 */
export function parseUnnamedBody(bytes: Buffer, type: string | undefined): unknown {
  const mayBeJson = type === undefined || type === '' || formType.test(type);
  if (mayBeJson && bytes.length === 0) return undefined;
  if (!mayBeJson || !/^\s*\{/.test(bytes.toString('latin1', 0, 1_000))) throw httpErrors.unsupported_media_type();
  return parseJsonBody(bytes);
}

function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw httpErrors.invalid_request('The body is not valid UTF-8.');
  const text = bytes.toString('utf8');
  return text.startsWith(byteOrderMark) ? text.slice(1) : text;
}

function parseText(text: string): unknown {
  try {
    if (!mayNameAPrototype.test(text)) return JSON.parse(text);
    return parse(text, { protoAction: 'error', constructorAction: 'error' });
  } catch (error) {
    if ((error as Error).message.includes('forbidden prototype property')) {
      throw httpErrors.invalid_request(
        'The body contains a property name that is not allowed ("__proto__" or "constructor").',
      );
    }
    throw httpErrors.invalid_request('The body is not valid JSON.');
  }
}

function refuseUnstorable(root: unknown): void {
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === 'string') refuseUnstorableText(value);
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, inner] of Object.entries(value)) {
      refuseUnstorableText(name);
      waiting.push(inner);
    }
  }
}

export function refuseUnstorableText(text: string): void {
  if (text.includes('\0') || !text.isWellFormed()) {
    throw httpErrors.invalid_request('Text must not contain NUL characters or unpaired surrogates.');
  }
}
