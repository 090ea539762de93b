import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { useService } from '../../support/service.ts';

const service = useService();

async function send(path: string, body: string | Uint8Array<ArrayBuffer>, contentType = 'application/json') {
  const response = await fetch(`${service.url}/api${path}`, {
    method: 'POST',
    headers: { 'content-type': contentType },
    body,
  });
  const problem = (await response.json()) as { code: string };
  return { status: response.status, type: response.headers.get('content-type'), body: problem };
}

const good = { email: 'ada@example.com', password: 'correct horse', name: 'Ada' };
const json = (change: object) => JSON.stringify({ ...good, ...change });

const bodies: [string, string | Uint8Array<ArrayBuffer>, number][] = [
  ['nothing', '', 400],
  ['blanks', '   ', 400],
  ['half an object', '{"email":', 400],
  ['a number', '5', 400],
  ['null', 'null', 400],
  ['a list', '[]', 400],
  ['a string', '"x"', 400],
  ['a missing field', '{"email":"a@b.co"}', 400],
  ['null for a field', json({ email: null }), 400],
  ['a number for text', json({ password: 12345678 }), 400],
  ['an object for text', json({ name: {} }), 400],
  ['a list for text', json({ email: ['a@b.co'] }), 400],
  ['an extra field', json({ admin: true }), 400],
  ['an email without @', json({ email: 'ada.example.com' }), 400],
  ['an email with two @', json({ email: 'a@b@c.co' }), 400],
  ['an email of 300 characters', json({ email: `${'a'.repeat(300)}@example.com` }), 400],
  ['a short password', json({ password: '1234567' }), 400],
  ['a password of 2000 characters', json({ password: 'x'.repeat(2000) }), 400],
  ['an empty name', json({ name: '' }), 400],
  ['a blank name', json({ name: '   ' }), 400],
  ['__proto__', '{"email":"a@b.co","password":"correct horse","name":"x","__proto__":{"admin":true}}', 400],
  ['constructor.prototype', '{"email":"a@b.co","constructor":{"prototype":{"admin":true}}}', 400],
  ['a NUL character', json({ name: 'a\0b' }), 400],
  ['a NUL in a field name', '{"email":"a@b.co","password":"correct horse","na\\u0000me":"x"}', 400],
  ['half a surrogate pair', '{"email":"a@b.co","password":"correct horse","name":"\\ud800"}', 400],
  ['bytes that are not UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]), 400],
  ['UTF-16', new Uint8Array(Buffer.from(JSON.stringify(good), 'utf16le')), 400],
  ['30,000 nested lists', '['.repeat(30_000) + ']'.repeat(30_000), 400],
  ['10,000 nested objects', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, 400],
  [
    'two fields of one name that disagree in type',
    '{"email":"a@b.co","email":5,"password":"correct horse","name":"x"}',
    400,
  ],
  ['70 KiB', json({ name: 'x'.repeat(70 * 1024) }), 413],
];

describe.each(['/agent/register', '/circle/register'])('POST %s', (path) => {
  test.each(bodies)('%s', async (_what, body, status) => {
    const reply = await send(path, body);
    expect(reply.status).toBe(status);
    expect(reply.type).toContain('application/problem+json');
    expect(reply.body).toMatchObject({ status, code: expect.any(String), requestId: expect.stringMatching(/^req_/) });
    expect(JSON.stringify(reply.body)).not.toMatch(/\bat .*\.[jt]s:\d+|node_modules/);
    expect(JSON.stringify(reply.body).length).toBeLessThan(5000);
  });

  test.each(['text/plain', 'application/xml', 'multipart/form-data; boundary=x', 'text/json+x', 'nonsense'])(
    'as %s',
    async (contentType) => {
      const reply = await send(path, JSON.stringify(good), contentType);
      expect([reply.status, reply.body.code]).toEqual([415, 'unsupported_media_type']);
    },
  );

  test.each(['email=ada%40example.com&password=correct+horse', '[]', '"x"', 'null', '5', '%7B%22email%22%3A1%7D='])(
    '%s as a form is no JSON object, and is told which header to send',
    async (body) => {
      const reply = await send(path, body, 'application/x-www-form-urlencoded');
      expect([reply.status, reply.body.code]).toEqual([415, 'unsupported_media_type']);
      expect(JSON.stringify(reply.body)).toContain('Content-Type: application/json');
    },
  );

  test.each([
    ['{"email":', 400],
    [json({ admin: true }), 400],
    [json({ name: 'x'.repeat(70 * 1024) }), 413],
  ])('an object as a form is read like any other (%#)', async (body, status) => {
    expect((await send(path, body, 'application/x-www-form-urlencoded')).status).toBe(status);
  });
});

test('after all that, nobody was registered', async () => {
  const { rows } = await service.database.db.query('SELECT count(*)::int AS count FROM accounts');
  expect(rows).toEqual([{ count: 0 }]);
});

describe('addresses and methods', () => {
  test.each([
    '/api/nothing',
    '/api',
    '/api/',
    '/nothing',
    '/api/agent/register/x',
    '/api/%00',
    '/api/account/../../etc/passwd',
  ])('GET %s is 404', async (path) => {
    const response = await fetch(`${service.url}${path}`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'not_found' });
  });

  test('a path that is not percent-encoded is 400', async () => {
    const response = await fetch(`${service.url}/api/%zz`);
    const { code } = (await response.json()) as { code: string };
    expect([response.status, code]).toEqual([400, 'invalid_request']);
  });

  test.each([
    ['GET', '/agent/register', 'POST, OPTIONS'],
    ['DELETE', '/account', 'GET, PATCH, HEAD, OPTIONS'],
    ['PUT', '/account/tier', 'POST, OPTIONS'],
  ])('%s %s is 405 and says what is allowed', async (method, path, allow) => {
    const reply = await service.client.request(method, path);
    expect([reply.status, reply.body.code, reply.headers.get('allow')]).toEqual([405, 'method_not_allowed', allow]);
  });

  test('HEAD answers like GET, without a body', async () => {
    const { key } = await service.client.register();
    const head = await service.client.request('HEAD', '/account', { key });
    expect([head.status, head.body]).toEqual([200, '']);
    expect(Number(head.headers.get('content-length'))).toBeGreaterThan(100);
    expect((await service.client.request('HEAD', '/account')).status).toBe(401);
  });

  test('a browser may call from any page', async () => {
    const preflight = await service.client.request('OPTIONS', '/account', {
      headers: { origin: 'https://app.example', 'access-control-request-method': 'PATCH' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-methods')).toContain('PATCH');
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Authorization');
    const reply = await service.client.get('/account');
    expect(reply.headers.get('access-control-allow-origin')).toBe('*');
    expect(reply.headers.get('access-control-expose-headers')).toContain('RateLimit');
  });

  test.each([
    'Bearer',
    'Bearer ',
    'Basic abc',
    'Bearer x y',
    'pa_live_x',
    `Bearer ${'x'.repeat(5000)}`,
    'Bearer pa_live_é',
  ])('Authorization "%s" is 401', async (authorization) => {
    const header = Buffer.from(authorization, 'utf8').toString('latin1');
    const reply = await service.client.request('GET', '/account', { headers: { authorization: header } });
    expect([reply.status, reply.body.code]).toEqual([401, 'unauthorized']);
    expect(reply.headers.get('www-authenticate')).toBe('Bearer');
  });

  test.each(['?email=%ff%fe', '?email=%zz', '?email=a%00@b.co', '?email=a@b.co&email=c@d.co', '?__proto__=x'])(
    'the query %s is 400',
    async (query) => {
      const { key } = await service.client.register();
      const reply = await service.client.get(`/circle/lookup${query}`, key);
      expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
    },
  );

  test('an operation without a body takes none, or an empty object', async () => {
    const { key } = await service.client.register();
    expect((await service.client.post('/account/revoke-key', { all: true }, key)).status).toBe(400);
    expect((await service.client.post('/account/revoke-key', {}, key)).status).toBe(200);
  });

  test.each(['', 'x'.repeat(256), 'ä'])('the Idempotency-Key "%s" is 400', async (idempotencyKey) => {
    const { key } = await service.client.register();
    const reply = await service.client.request('POST', '/account/email/code', {
      key,
      headers: { 'idempotency-key': Buffer.from(idempotencyKey, 'utf8').toString('latin1') },
    });
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
  });
});

/** Writes bytes to the server and reads until it hangs up. */
function speak(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk;
    });
    socket.on('close', () => resolve(heard));
    socket.on('error', reject);
  });
}

test.each([
  ['no HTTP at all', 'hello\r\n\r\n', 400],
  ['headers without end', `GET / HTTP/1.1\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`, 431],
])('%s is answered in the same form', async (_what, bytes, status) => {
  const answer = await speak(bytes);
  expect(answer).toContain(`HTTP/1.1 ${status}`);
  expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ status, code: 'invalid_request' });
});

test('security headers are on every answer', async () => {
  for (const path of ['/api/account', '/health', '/docs', '/nothing']) {
    const { headers } = await fetch(`${service.url}${path}`);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('x-request-id')).toMatch(/^req_/);
  }
});
