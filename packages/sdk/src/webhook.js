import { PaywrightError } from './error.js';

const toleranceSeconds = 300;
const prefix = 'whsec_';
const encoder = new TextEncoder();

/**
 * Resolves to the event of a webhook whose signature is valid and not older than five minutes. Pass the body as it arrived: parsed and
 * written again, it has another signature.
 *
 * @param {string | Uint8Array | ArrayBuffer} rawBody
 * @param {Headers | Readonly<Record<string, string | readonly string[] | undefined>>} headers
 * @param {string} secret
 * @returns {Promise<import('./index.d.ts').WebhookEvent>}
 */
export async function verifyWebhook(rawBody, headers, secret) {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
    readHeader(headers, `webhook-${name}`),
  );
  if (!id || !timestamp || !signatures)
    throw refused('the headers webhook-id, webhook-timestamp or webhook-signature are missing');
  if (!/^\d{1,12}$/.test(timestamp)) throw refused('webhook-timestamp is not a number of seconds');
  if (Math.abs(Date.now() / 1_000 - Number(timestamp)) > toleranceSeconds) {
    throw refused('it was sent more than five minutes ago, or this clock is wrong');
  }
  const body = bytesOf(rawBody);
  const key = await crypto.subtle.importKey('raw', keyOf(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  const signed = joined(encoder.encode(`${id}.${timestamp}.`), body);
  // Only what can be one: anyone may send a header with thousands of others.
  const offered = signatures.split(' ').filter((one) => /^v1,[\w+/]{43}=$/.test(one));
  // `verify` compares in constant time.
  const results = await Promise.all(
    offered.map((one) => crypto.subtle.verify('HMAC', key, fromBase64(one.slice(3)) ?? new Uint8Array(), signed)),
  );
  if (!results.includes(true)) throw refused('its signature does not match the body and the secret');
  return JSON.parse(new TextDecoder().decode(body));
}

/** @param {string | Uint8Array | ArrayBuffer} rawBody */
function bytesOf(rawBody) {
  if (typeof rawBody === 'string') return encoder.encode(rawBody);
  // Not `instanceof`: bytes may come from another realm.
  if (/^\[object (Uint8Array|ArrayBuffer)\]$/.test(Object.prototype.toString.call(rawBody)))
    return new Uint8Array(rawBody);
  throw new TypeError('rawBody must be the body as it arrived: text or bytes, not parsed');
}

/** @param {string} why */
function refused(why) {
  return new PaywrightError(`The webhook is not accepted: ${why}.`, { code: 'webhook_not_verified' });
}

/**
 * @param {Headers | Readonly<Record<string, string | readonly string[] | undefined>>} headers
 * @param {string} name
 */
function readHeader(headers, name) {
  if (headers instanceof Headers) return headers.get(name);
  const found = Object.entries(headers).find(([written]) => written.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : found?.[0];
}

/** @param {string} secret */
function keyOf(secret) {
  const key = secret.startsWith(prefix) ? fromBase64(secret.slice(prefix.length)) : encoder.encode(secret);
  if (key === undefined || key.length === 0)
    throw new TypeError('secret must be the one that the webhook was registered with');
  return key;
}

/** @param {string} text */
function fromBase64(text) {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/**
 * @param {Uint8Array} first
 * @param {Uint8Array} second
 */
function joined(first, second) {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
