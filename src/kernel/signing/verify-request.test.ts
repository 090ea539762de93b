import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { signRequest } from './sign-request.ts';
import { contentDigest, signatureBase } from './signature-base.ts';
import { createSigningKey, exportSigningKey, importSigningKey } from './signing-key.ts';
import { type ReceivedRequest, type VerifyOptions, verifyRequest } from './verify-request.ts';

const now = Date.parse('2026-11-15T12:00:00Z');
const key = createSigningKey();
const body = '{"line_items":[]}';
const url = 'https://shop.example/ucp/checkout-sessions?dry=1';
const headers = {
  'UCP-Agent': 'profile="https://pay.example/.well-known/ucp"',
  'Idempotency-Key': '7d1f0d9e-1d3c-4b0c-9d42-8d6e0c3f9a11',
  'Content-Type': 'application/json',
};
const options: VerifyOptions = {
  keys: [{ kid: 'another', kty: 'EC' }, key.publicJwk],
  authorities: ['shop.example'],
  now,
  maxAgeMs: 300_000,
  requires: ['ucp-agent', 'idempotency-key'],
};

function send(more: Partial<ReceivedRequest> = {}): ReceivedRequest {
  const signed = signRequest({ method: 'POST', url, headers, body }, key, { now });
  return {
    method: 'POST',
    target: '/ucp/checkout-sessions?dry=1',
    headers: { ...headers, ...signed },
    body: Buffer.from(body),
    ...more,
  };
}

/** Signs by hand whatever components and parameters a sender might think of. */
function sendWith({
  components = [
    '@method',
    '@authority',
    '@path',
    '@query',
    'ucp-agent',
    'idempotency-key',
    'content-digest',
    'content-type',
  ],
  parameters = `;created=${now / 1000};keyid="${key.kid}"`,
  privateKey = key.privateKey,
  hash = 'sha256',
}: {
  readonly components?: readonly string[];
  readonly parameters?: string;
  readonly privateKey?: KeyObject;
  readonly hash?: string | null;
} = {}): ReceivedRequest {
  const described = `(${components.map((name) => `"${name}"`).join(' ')})${parameters}`;
  const all = { ...headers, 'Content-Digest': contentDigest(body) };
  const target = '/ucp/checkout-sessions?dry=1';
  const base = signatureBase(
    { method: 'POST', authority: 'shop.example', target, headers: all },
    components,
    described,
  );
  const signature = sign(hash, Buffer.from(base ?? ''), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  const own = { 'Signature-Input': `a=${described}`, Signature: `a=:${signature.toString('base64')}:` };
  return { method: 'POST', target, headers: { ...all, ...own }, body };
}

describe('a signed request', () => {
  test('passes, and names its key', async () => {
    expect(await verifyRequest(send(), options)).toEqual({ ok: true, kid: key.kid });
  });

  test('says what it covers, when and by which key, and no algorithm', async () => {
    const signed = signRequest({ method: 'POST', url, headers, body }, key, { now });
    expect(signed['Signature-Input']).toBe(
      'sig1=("@method" "@authority" "@path" "@query" "ucp-agent" "idempotency-key" "content-digest" "content-type")' +
        `;created=1794744000;keyid="${key.kid}"`,
    );
    expect(signed['Content-Digest']).toBe(`sha-256=:${createHash('sha256').update(body).digest('base64')}:`);
    expect(Buffer.from(signed['Signature']?.slice(6, -1) ?? '', 'base64')).toHaveLength(64);
  });

  test('without body and query covers neither', async () => {
    const signed = signRequest({ method: 'GET', url: 'http://127.0.0.1:8402/x', headers: {} }, key, { now });
    expect(Object.keys(signed)).toEqual(['Signature-Input', 'Signature']);
    const request = { method: 'GET', target: '/x', headers: signed, body: undefined };
    const own = { ...options, authorities: ['pay.example', '127.0.0.1:8402'], requires: [] };
    expect(await verifyRequest(request, own)).toEqual({ ok: true, kid: key.kid });
  });

  test('passes with a key that was put away and taken out again', async () => {
    const again = importSigningKey(exportSigningKey(key));
    expect(again.publicJwk).toEqual(key.publicJwk);
    expect(JSON.stringify(again.publicJwk)).not.toContain('"d"');
    const signed = signRequest({ method: 'POST', url, headers, body }, again, { now });
    expect((await verifyRequest(send({ headers: { ...headers, ...signed } }), options)).ok).toBe(true);
  });

  test.each([
    ['ES384', generateKeyPairSync('ec', { namedCurve: 'P-384' }), 'sha384'],
    ['Ed25519', generateKeyPairSync('ed25519'), null],
  ] as const)('passes with %s as well', async (_name, { privateKey, publicKey }, hash) => {
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: key.kid };
    const request = sendWith({ privateKey, hash });
    expect(await verifyRequest(request, { ...options, keys: [jwk] })).toEqual({ ok: true, kid: key.kid });
    expect(await verifyRequest(request, options)).toMatchObject({ ok: false, code: 'signature_invalid' });
  });

  test('passes beside a signature of somebody else', async () => {
    const own = send();
    const input = `theirs=("@authority");created=1;keyid="unknown";tag="web-bot-auth", ${own.headers['Signature-Input']}`;
    const signature = `theirs=:${Buffer.alloc(64).toString('base64')}:, ${own.headers['Signature']}`;
    const both = send({ headers: { ...own.headers, 'Signature-Input': input, Signature: signature } });
    expect(await verifyRequest(both, options)).toEqual({ ok: true, kid: key.kid });
  });
});

describe('is refused', () => {
  const signed = send();
  const other = createSigningKey();
  const change = (more: Record<string, string | undefined>) => send({ headers: { ...signed.headers, ...more } });

  test.each<[string, string, ReceivedRequest, Partial<VerifyOptions>?]>([
    ['without a signature', 'signature_missing', send({ headers })],
    ['without its description', 'signature_missing', change({ 'Signature-Input': undefined })],
    ['with another method', 'signature_invalid', send({ method: 'PUT' })],
    ['with another path', 'signature_invalid', send({ target: '/ucp/checkout-sessions/1?dry=1' })],
    ['with another query', 'signature_invalid', send({ target: '/ucp/checkout-sessions?dry=2' })],
    [
      'with a query that is not covered',
      'signature_invalid',
      sendWith({ components: ['@method', '@authority', '@path'] }),
    ],
    ['without a path', 'signature_invalid', send({ target: 'https://shop.example/ucp/checkout-sessions?dry=1' })],
    ['meant for another host', 'signature_invalid', send(), { authorities: ['other.example'] }],
    ['with another body', 'digest_mismatch', send({ body: '{"line_items":[1]}' })],
    ['without its body', 'digest_mismatch', send({ body: undefined })],
    ['with another digest', 'digest_mismatch', change({ 'Content-Digest': contentDigest('x') })],
    ['with a digest that nobody knows', 'digest_mismatch', change({ 'Content-Digest': 'md5=:AAAA:' })],
    ['with another key for idempotency', 'signature_invalid', change({ 'Idempotency-Key': 'x' })],
    ['with another profile', 'signature_invalid', change({ 'UCP-Agent': 'profile="https://evil.example"' })],
    ['with another type of body', 'signature_invalid', change({ 'Content-Type': 'text/plain' })],
    ['when what is needed is not covered', 'signature_invalid', send(), { requires: ['webhook-id'] }],
    ['by a key that is not listed', 'key_not_found', send(), { keys: [other.publicJwk] }],
    ['by a key of the same name', 'signature_invalid', send(), { keys: [{ ...other.publicJwk, kid: key.kid }] }],
    ['by a key for something else', 'algorithm_unsupported', send(), { keys: [{ ...key.publicJwk, use: 'enc' }] }],
    ['by a kind of key that is unknown', 'algorithm_unsupported', send(), { keys: [{ kid: key.kid, kty: 'RSA' }] }],
    ['by a key that is none', 'signature_invalid', send(), { keys: [{ kid: key.kid, kty: 'EC', crv: 'P-256' }] }],
    ['from tomorrow', 'signature_invalid', send(), { now: now - 86_400_000 }],
    ['when it is too old', 'signature_invalid', send(), { now: now + 301_000 }],
    [
      'when it has expired',
      'signature_invalid',
      sendWith({ parameters: `;created=${now / 1000};expires=${now / 1000};keyid="${key.kid}"` }),
    ],
    ['without a time', 'signature_invalid', sendWith({ parameters: `;keyid="${key.kid}"` })],
    ['without a keyid', 'signature_invalid', sendWith({ parameters: `;created=${now / 1000}` })],
    [
      'with the algorithm of another key',
      'algorithm_unsupported',
      sendWith({ parameters: `;created=${now / 1000};keyid="${key.kid}";alg="hmac-sha256"` }),
    ],
    [
      'with a part that is not there',
      'signature_invalid',
      sendWith({
        components: [
          '@method',
          '@authority',
          '@path',
          '@query',
          'content-digest',
          'content-type',
          'ucp-agent',
          'idempotency-key',
          'x-missing',
        ],
      }),
    ],
    [
      'with a label that stands twice',
      'signature_invalid',
      change({ Signature: `${signed.headers['Signature']}, ${signed.headers['Signature']}` }),
    ],
    [
      'with a signature under another label',
      'signature_invalid',
      change({ Signature: `x${String(signed.headers['Signature'])}` }),
    ],
    ['with headers that are too long', 'signature_invalid', change({ Signature: `sig1=:${'A'.repeat(9_000)}:` })],
    ['in DER', 'signature_invalid', change({ Signature: `sig1=:${Buffer.alloc(71).toString('base64')}:` })],
  ])('%s', async (_why, code, request, more = {}) => {
    expect(await verifyRequest(request, { ...options, ...more })).toMatchObject({ ok: false, code });
  });

  test.each([
    '"@method" "@method"',
    '"@method";bs',
    '"content-type";sf',
    '"@query-param";name="dry"',
    '"Content-Type"',
    '@method',
    '1',
  ])('with the list (%s)', async (list) => {
    const input = String(signed.headers['Signature-Input']).replace('"@method"', list);
    expect(await verifyRequest(change({ 'Signature-Input': input }), options)).toMatchObject({
      code: 'signature_invalid',
    });
  });

  test('with another key that the profile lists under the same name', async () => {
    const twin = { ...other.publicJwk, kid: key.kid };
    expect((await verifyRequest(signed, { ...options, keys: [key.publicJwk, twin] })).ok).toBe(true);
    expect(await verifyRequest(signed, { ...options, keys: [twin, key.publicJwk] })).toMatchObject({
      code: 'signature_invalid',
    });
    // What cannot sign at all is passed over.
    expect((await verifyRequest(signed, { ...options, keys: [{ ...twin, use: 'enc' }, key.publicJwk] })).ok).toBe(true);
  });

  test('at the first wrong signature by a key of the profile, whatever else is signed', async () => {
    const own = sendWith();
    const wrong = `wrong${String(own.headers['Signature-Input']).slice(1)}`;
    const zeros = `wrong=:${Buffer.alloc(64, 1).toString('base64')}:`;
    const both = {
      ...own.headers,
      'Signature-Input': `${wrong}, ${own.headers['Signature-Input']}`,
      Signature: `${zeros}, ${own.headers['Signature']}`,
    };
    expect(await verifyRequest({ ...own, headers: both }, options)).toMatchObject({ ok: false, wasVerified: true });
  });

  test('with more signatures than anybody needs', async () => {
    const input = String(signed.headers['Signature-Input']);
    const many = ['a', 'b', 'c', 'd'].map((label) => input.replace('sig1', label)).join(', ');
    expect(await verifyRequest(change({ 'Signature-Input': `${input}, ${many}` }), options)).toMatchObject({
      code: 'signature_invalid',
    });
  });
});

test('whatever comes is answered, and nothing altered passes', async () => {
  const signed = send();
  const field = fc.constantFrom('Signature-Input', 'Signature', 'Content-Digest', 'Idempotency-Key');
  await fc.assert(
    fc.asyncProperty(
      field,
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.nat(),
      fc.nat(20),
      async (name, text, at, cut) => {
        const before = String(signed.headers[name]);
        const place = at % (before.length + 1);
        const after = before.slice(0, place) + text + before.slice(place + cut);
        const verified = await verifyRequest({ ...signed, headers: { ...signed.headers, [name]: after } }, options);
        // Space around a value means nothing.
        if (after.trim() !== before) expect(verified.ok).toBe(false);
      },
    ),
    { numRuns: 300 },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.anything(), { maxLength: 5 }), async (keys) => {
      expect((await verifyRequest(signed, { ...options, keys })).ok).toBe(false);
    }),
    { numRuns: 100 },
  );
});
