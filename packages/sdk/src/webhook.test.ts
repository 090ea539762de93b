import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { signatureHeaders } from '../../../src/webhooks/sign-webhook.ts';
import { verifyWebhook } from './index.js';

const body = JSON.stringify({
  id: 'evt_1',
  type: 'payment.sent',
  createdAt: '2026-01-15T10:00:00.000Z',
  data: { name: 'Zoë' },
});
const now = Date.parse('2026-01-15T10:00:00Z');

/** As the service signs it. */
function signed(secret: string, { seconds = now / 1_000, text = body } = {}) {
  const { 'webhook-signature': signature } = signatureHeaders(secret, {
    id: 'evt_1',
    timestampSeconds: seconds,
    body: text,
  });
  return { 'webhook-id': 'evt_1', 'webhook-timestamp': String(seconds), 'webhook-signature': signature };
}

const secrets = ['a plain secret', `whsec_${Buffer.from('the key of a standard webhook').toString('base64')}`];

describe.each(secrets)('with the secret %s', (secret) => {
  beforeEach(() => void vi.useFakeTimers({ now }));
  afterEach(() => void vi.useRealTimers());

  it('accepts what the service has signed, in every form that a server may have it', async () => {
    const headers = signed(secret);
    const bytes = new TextEncoder().encode(body);
    for (const raw of [body, bytes, Buffer.from(body), bytes.buffer]) {
      for (const given of [headers, new Headers(headers), { ...headers, 'x-other': undefined }]) {
        expect(await verifyWebhook(raw, given, secret)).toEqual(JSON.parse(body));
      }
    }
    const written = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
    expect(await verifyWebhook(body, written, secret)).toMatchObject({ type: 'payment.sent' });
  });

  it('accepts one of several signatures, as while a secret is replaced', async () => {
    const headers = signed(secret);
    const offered = `v1,AAAA v2,x v1,??? ${headers['webhook-signature']}`;
    expect(await verifyWebhook(body, { ...headers, 'webhook-signature': offered }, secret)).toMatchObject({
      id: 'evt_1',
    });
  });

  it('accepts no other body, id, time or secret', async () => {
    const headers = signed(secret);
    const refused = { code: 'webhook_not_verified', message: expect.stringContaining('does not match') };
    await expect(verifyWebhook(`${body} `, headers, secret)).rejects.toMatchObject(refused);
    await expect(verifyWebhook(body, { ...headers, 'webhook-id': 'evt_2' }, secret)).rejects.toMatchObject(refused);
    const later = { ...headers, 'webhook-timestamp': String(now / 1_000 + 1) };
    await expect(verifyWebhook(body, later, secret)).rejects.toMatchObject(refused);
    await expect(verifyWebhook(body, headers, 'another secret')).rejects.toMatchObject(refused);
    const unsigned = { ...headers, 'webhook-signature': 'v1,' };
    await expect(verifyWebhook(body, unsigned, secret)).rejects.toMatchObject(refused);
    const { 'webhook-signature': _, ...without } = headers;
    await expect(verifyWebhook(body, without, secret)).rejects.toMatchObject({
      message: expect.stringContaining('missing'),
    });
  });

  it('accepts five minutes, before and after', async () => {
    for (const seconds of [-300, 300]) {
      expect(await verifyWebhook(body, signed(secret, { seconds: now / 1_000 + seconds }), secret)).toBeDefined();
    }
    for (const seconds of [-301, 301]) {
      await expect(
        verifyWebhook(body, signed(secret, { seconds: now / 1_000 + seconds }), secret),
      ).rejects.toMatchObject({
        code: 'webhook_not_verified',
        message: expect.stringContaining('five minutes'),
      });
    }
    const odd = { ...signed(secret), 'webhook-timestamp': 'NaN' };
    await expect(verifyWebhook(body, odd, secret)).rejects.toMatchObject({
      message: expect.stringContaining('number'),
    });
  });
});

const [plainSecret = ''] = secrets;

it('says that a parsed body is none', async () => {
  vi.useFakeTimers({ now });
  for (const parsed of [JSON.parse(body), undefined, 1e10, [1]]) {
    await expect(verifyWebhook(parsed as string, signed(plainSecret), plainSecret)).rejects.toThrow('rawBody must be');
  }
  vi.useRealTimers();
});

it('checks no more signatures than can be signatures', async () => {
  vi.useFakeTimers({ now });
  const verify = vi.spyOn(crypto.subtle, 'verify');
  const flooded = { ...signed(plainSecret), 'webhook-signature': 'v1,a v1,*** '.repeat(1_000) };
  await expect(verifyWebhook(body, flooded, plainSecret)).rejects.toMatchObject({ code: 'webhook_not_verified' });
  expect(verify).not.toHaveBeenCalled();
  verify.mockRestore();
  vi.useRealTimers();
});

it('needs a secret', async () => {
  vi.useFakeTimers({ now });
  for (const secret of ['', 'whsec_', 'whsec_***']) {
    await expect(verifyWebhook(body, signed('x'), secret)).rejects.toThrow('secret must be the one');
  }
  vi.useRealTimers();
});
