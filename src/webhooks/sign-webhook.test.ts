import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { isUsableSecret, signatureHeaders } from './sign-webhook.ts';

const message = { id: 'evt_1', timestampSeconds: Math.floor(Date.now() / 1_000), body: '{"ü":1}' };
const headersFor = (secret: string) => ({
  'webhook-id': message.id,
  'webhook-timestamp': String(message.timestampSeconds),
  ...signatureHeaders(secret, message),
});

describe('a signature', () => {
  it('is what Standard Webhooks expects of a whsec_ secret', () => {
    const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
    expect(new Webhook(secret).verify(message.body, headersFor(secret))).toEqual({ ü: 1 });
    const other = new Webhook(`whsec_${Buffer.alloc(24, 8).toString('base64')}`);
    expect(() => other.verify(message.body, headersFor(secret))).toThrow('No matching signature');
  });

  it('and of any other text', () => {
    const verifier = new Webhook(Buffer.from('any tëxt'), { format: 'raw' });
    expect(verifier.verify(message.body, headersFor('any tëxt'))).toEqual({ ü: 1 });
  });
});

describe('a secret', () => {
  it.each(['x', 'any text', `whsec_${Buffer.alloc(24).toString('base64')}`, 'whsec_c2VjcmV0'])('%s is fine', (secret) =>
    expect(isUsableSecret(secret)).toBe(true),
  );
  it.each(['whsec_', 'whsec_ ', 'whsec_!!!!', 'whsec_ab\ncd'])('%j encodes no key', (secret) =>
    expect(isUsableSecret(secret)).toBe(false),
  );
});
