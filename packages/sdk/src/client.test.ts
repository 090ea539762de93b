import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Paywright, PaywrightError } from './index.js';

const apiKey = 'pa_live_secret';
const baseUrl = 'https://pay.example.com/api';
const transfer = { to: 'PA-7K2M9QXA', amount: '1.50', currency: 'USDC' } as const;
const done = {
  transferId: 'trf_1',
  status: 'complete',
  amount: 1.5,
  fee: 0.02,
  recipientAmount: 1.48,
  currency: 'USDC',
};

interface Sent {
  readonly url: string;
  readonly headers: Headers;
  readonly init: RequestInit;
}

type Answer = (sent: Sent) => Response | Promise<Response>;

/** A service that gives these answers one after the other, and the last one for ever. */
function serve(...answers: Answer[]) {
  const sent: Sent[] = [];
  const fetch = async (url: string | URL | Request, init: RequestInit = {}) => {
    const one = { url: String(url), headers: new Headers(init.headers), init };
    sent.push(one);
    return (answers[sent.length - 1] ?? (answers.at(-1) as Answer))(one);
  };
  const connect = (options: object = {}) => new Paywright({ apiKey, baseUrl, fetch, ...options });
  return { sent, connect, keys: () => sent.map(({ headers }) => headers.get('idempotency-key')) };
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}) =>
  () =>
    new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });
const problem = (status: number, code: string, headers: Record<string, string> = {}, members: object = {}) =>
  json(status, { code, status, title: code, detail: `Because of ${code}.`, requestId: 'req_1', ...members }, headers);
const lost = () => {
  throw new TypeError('fetch failed');
};

/** Runs the timers until the call has ended, and tells how long it would have taken. */
async function waited<T>(call: PromiseLike<T>): Promise<{ result: T | PaywrightError; ms: number }> {
  const begun = Date.now();
  let result: { result: T | PaywrightError; ms: number } | undefined;
  const settle = (value: T | PaywrightError) => {
    result = { result: value, ms: Date.now() - begun };
  };
  void call.then(settle, settle);
  while (result === undefined) await vi.advanceTimersByTimeAsync(50);
  return result;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a call', () => {
  it('sends members to the path, the query or the body, as the operation declares', async () => {
    const { sent, connect } = serve(json(200, {}));
    const paywright = connect({ baseUrl: `${baseUrl}/` });
    await paywright.invoices.pay({ id: 'inv/1?', note: 'Lunch' });
    await paywright.transfers.quote({ to: '+1 415', amount: 5, currency: 'EURC' });
    await paywright.accounts.deleteKey({ id: 'key_1', endWebhooks: true });
    await paywright.transfers.getBalance();
    expect(sent.map(({ url, init }) => [init.method, url, init.body])).toEqual([
      ['POST', `${baseUrl}/invoices/inv%2F1%3F/pay`, '{"note":"Lunch"}'],
      ['GET', `${baseUrl}/agent/transfer/quote?to=%2B1+415&amount=5&currency=EURC`, undefined],
      ['DELETE', `${baseUrl}/account/keys/key_1?endWebhooks=true`, undefined],
      ['GET', `${baseUrl}/circle/balance`, undefined],
    ]);
    expect(sent[0]?.headers.get('authorization')).toBe(`Bearer ${apiKey}`);
  });

  it('refuses an id that would make another path', async () => {
    const { sent, connect } = serve(json(200, {}));
    for (const id of ['', '.', '..', '%2e%2E', undefined as never]) {
      await expect(connect().invoices.cancel({ id })).rejects.toThrow('id is required');
    }
    expect(sent).toEqual([]);
  });

  it('refuses an idempotency key that cannot be sent', async () => {
    const { sent, connect } = serve(json(200, done));
    await expect(connect().transfers.create(transfer, { idempotencyKey: 'Schlüssel ☕' })).rejects.toThrow(TypeError);
    await expect(connect().transfers.create(transfer, { idempotencyKey: 'a\nb' })).rejects.toThrow(TypeError);
    expect(sent).toEqual([]);
  });

  it('asks for the guard where the operation has one, unless it is turned off', async () => {
    const { sent, connect } = serve(json(200, done));
    await connect().transfers.create(transfer);
    await connect().transfers.getBalance();
    await connect({ duplicateGuard: false }).transfers.create(transfer);
    expect(sent.map(({ headers }) => headers.get('duplicate-guard'))).toEqual(['on', null, null]);
  });

  it('takes a key of its own choice, and If-Match', async () => {
    const { sent, connect, keys } = serve(json(200, done));
    await connect().transfers.create(transfer, { idempotencyKey: 'lunch-1' });
    await connect().policies.delete({ id: 'key_1' }, { ifMatch: '"v1"' });
    expect(keys()).toEqual(['lunch-1', null]);
    expect(sent[1]?.headers.get('if-match')).toBe('"v1"');
  });
});

describe('what is repeated', () => {
  const troubles: Record<string, Answer> = {
    'a lost connection': lost,
    '503': problem(503, 'unavailable'),
    '503 after a lost commit': problem(503, 'outcome_unknown'),
    'a request that is still running': problem(409, 'idempotency_in_progress', { 'retry-after': '1' }),
    "a proxy's 502": () =>
      new Response('<h1>Bad Gateway</h1>', { status: 502, headers: { 'content-type': 'text/html' } }),
    'an answer that was cut': () => new Response('{"transferId', { headers: { 'content-type': 'application/json' } }),
  };

  for (const [name, trouble] of Object.entries(troubles)) {
    it(`${name}: a payment is, with the same key and body`, async () => {
      const { sent, connect, keys } = serve(trouble, json(200, done));
      expect((await waited(connect().transfers.create(transfer))).result).toEqual(done);
      expect(new Set(keys()).size).toBe(1);
      expect(keys()[0]).toMatch(/^[0-9a-f-]{36}$/);
      expect(sent.map(({ init }) => init.body)).toEqual([JSON.stringify(transfer), JSON.stringify(transfer)]);
    });

    it(`${name}: a question is`, async () => {
      const { sent, connect } = serve(trouble, json(200, { USDC: '1' }));
      expect((await waited(connect().transfers.getBalance())).result).toEqual({ USDC: '1' });
      expect(sent).toHaveLength(2);
    });

    it(`${name}: what writes and takes no key is not`, async () => {
      const { sent, connect } = serve(trouble);
      expect((await waited(connect().accounts.createKey({ name: 'Agent' }))).result).toBeInstanceOf(PaywrightError);
      expect(sent).toHaveLength(1);
    });

    it(`${name}: a GET that a key pays for is not`, async () => {
      const { sent, connect } = serve(trouble);
      await waited(connect().nano.lookup({ handle: 'PA-7K2M9QXA' }));
      expect(sent).toHaveLength(1);
    });
  }

  it('429: everything is, because nothing was done', async () => {
    const { sent, connect } = serve(problem(429, 'rate_limited', { 'retry-after': '2' }), json(201, { id: 'key_1' }));
    const { result, ms } = await waited(connect().accounts.createKey({ name: 'Agent' }));
    expect(result).toEqual({ id: 'key_1' });
    expect(ms).toBeGreaterThanOrEqual(2_000);
    expect(sent).toHaveLength(2);
  });

  it('a refusal is not', async () => {
    for (const [status, code] of [
      [400, 'insufficient_balance'],
      [409, 'possible_duplicate'],
      [422, 'idempotency_mismatch'],
      [500, 'internal_error'],
      [502, 'seller_failed'],
      [504, 'seller_silent'],
    ] as const) {
      const { sent, connect } = serve(problem(status, code));
      await expect(connect().transfers.create(transfer)).rejects.toMatchObject({ status, code });
      expect(sent).toHaveLength(1);
    }
  });

  it('nothing is with maxRetries 0, and everything as often as maxRetries says', async () => {
    for (const maxRetries of [0, 2]) {
      const { sent, connect } = serve(lost);
      const { result } = await waited(connect({ maxRetries }).transfers.create(transfer));
      expect(result).toMatchObject({ code: 'connection_lost', status: 0, idempotencyKey: expect.any(String) });
      expect(sent).toHaveLength(maxRetries + 1);
    }
    const { sent, connect } = serve(lost);
    await expect(connect().transfers.create(transfer, { maxRetries: 0 })).rejects.toBeInstanceOf(PaywrightError);
    expect(sent).toHaveLength(1);
  });
});

describe('the time between attempts', () => {
  it('grows, and differs from call to call', async () => {
    const lengths = new Set<number>();
    for (let call = 0; call < 5; call++) {
      const { ms } = await waited(serve(lost).connect({ maxRetries: 6 }).transfers.getBalance());
      // Half to all of 250, 500, 1000, 2000, 4000 and 8000, in steps of the clock.
      expect(ms).toBeGreaterThan(7_800);
      expect(ms).toBeLessThan(16_200);
      lengths.add(ms);
    }
    expect(lengths.size).toBeGreaterThan(1);
  });

  it('is what Retry-After says, also as a date', async () => {
    const inTenSeconds = () =>
      problem(503, 'unavailable', { 'retry-after': new Date(Date.now() + 10_000).toUTCString() })();
    const { ms } = await waited(serve(inTenSeconds, json(200, {})).connect().transfers.getBalance());
    expect(ms).toBeGreaterThan(8_900);
    expect(ms).toBeLessThan(10_500);
  });

  it('is never longer than a minute: the caller is told instead', async () => {
    const { sent, connect } = serve(problem(429, 'daily_cap_reached', { 'retry-after': '40000' }));
    const { result, ms } = await waited(connect().transfers.getBalance());
    expect(result).toMatchObject({ code: 'daily_cap_reached', retryAfterMs: 40_000_000 });
    expect(sent).toHaveLength(1);
    expect(ms).toBeLessThan(100);
  });

  it('is its own where Retry-After makes no sense or has passed', async () => {
    for (const retryAfter of ['soon', '-5', new Date(0).toUTCString()]) {
      const { result } = await waited(
        serve(problem(503, 'unavailable', { 'retry-after': retryAfter }), json(200, {}))
          .connect()
          .transfers.getBalance(),
      );
      expect(result).toEqual({});
    }
  });
});

describe('an end that the caller sets', () => {
  const silent: Answer = ({ init }) =>
    new Promise((_, reject) =>
      init.signal?.addEventListener('abort', () => reject(new DOMException('', 'AbortError'))),
    );

  it('ends an attempt that takes too long, and tries again', async () => {
    const { sent, connect } = serve(silent, json(200, done));
    const { result, ms } = await waited(connect({ timeoutMs: 5_000 }).transfers.create(transfer));
    expect(result).toEqual(done);
    expect(ms).toBeGreaterThanOrEqual(5_000);
    expect(sent).toHaveLength(2);
    const { result: late } = await waited(
      serve(silent).connect().accounts.createKey({ name: 'A' }, { timeoutMs: 100 }),
    );
    expect(late).toMatchObject({ code: 'timeout', status: 0 });
  });

  it('aborts the request, and the time between attempts', async () => {
    const reason = new Error('The user has gone.');
    for (const answer of [silent, lost]) {
      const { sent, connect } = serve(answer);
      const controller = new AbortController();
      const call = connect().transfers.create(transfer, { signal: controller.signal });
      const failed = expect(call).rejects.toBe(reason);
      await vi.advanceTimersByTimeAsync(10);
      controller.abort(reason);
      await failed;
      expect(sent).toHaveLength(1);
    }
    const { sent, connect } = serve(json(200, done));
    await expect(connect().transfers.create(transfer, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(sent).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('an error', () => {
  it('has the members of the problem', async () => {
    const duplicateOf = { id: 'trf_1', status: 'complete', createdAt: '2026-01-15T10:00:00.000Z' };
    const { connect } = serve(problem(409, 'possible_duplicate', {}, { duplicateOf }));
    const error = await connect()
      .transfers.create(transfer)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PaywrightError);
    expect(error).toMatchObject({
      name: 'PaywrightError',
      message: 'Because of possible_duplicate.',
      code: 'possible_duplicate',
      status: 409,
      requestId: 'req_1',
      duplicateOf,
    });
  });

  it('keeps what it is, whatever a member is called', async () => {
    const members =
      '"name":"x","message":"x","stack":"x","toString":1,"__proto__":{"polluted":true},"idempotencyKey":"x"';
    const { connect } = serve(
      () =>
        new Response(`{"code":"c","detail":"d",${members}}`, {
          status: 400,
          headers: { 'content-type': 'application/problem+json' },
        }),
    );
    const error = await connect()
      .transfers.getBalance()
      .catch((thrown: unknown) => thrown as PaywrightError);
    expect(error).toMatchObject({ name: 'PaywrightError', message: 'd', idempotencyKey: undefined });
    expect(String(error)).toBe('PaywrightError: d');
    expect('polluted' in (error as object)).toBe(false);
  });

  it('tells when the answer is not from Paywright', async () => {
    const html = { 'content-type': 'text/html; charset=utf-8' };
    for (const status of [200, 403, 404, 502]) {
      const { connect } = serve(() => new Response('<h1>Hi</h1>', { status, headers: html }));
      await expect(connect({ maxRetries: 0 }).transfers.getBalance()).rejects.toMatchObject({
        code: 'unexpected_response',
        status,
        message: expect.stringContaining(`status ${status}, text/html`),
      });
    }
    await expect(
      serve(json(402, { accepts: ['x'] }))
        .connect()
        .nano.status(),
    ).rejects.toMatchObject({
      code: 'unexpected_response',
      status: 402,
      accepts: ['x'],
    });
  });

  it('is what a redirect is, and nothing is sent there', async () => {
    const { sent, connect } = serve(
      () => new Response(null, { status: 307, headers: { location: 'https://evil.example/' } }),
    );
    await expect(connect().transfers.create(transfer)).rejects.toMatchObject({ code: 'redirected', status: 307 });
    expect(sent.map(({ url, init }) => [url, init.redirect])).toEqual([[`${baseUrl}/agent/transfer`, 'manual']]);
  });

  it('never shows the API key, nor does the client', async () => {
    const { connect } = serve(
      problem(401, 'unauthorized', {}, { detail: `Bearer ${apiKey} is unknown`, deep: [{ header: apiKey }] }),
    );
    const paywright = connect();
    const error = await paywright.transfers.getBalance().catch((thrown: unknown) => thrown);
    const lostError = await waited(serve(lost).connect().transfers.create(transfer));
    for (const shown of [paywright, error, lostError.result]) {
      expect(inspect(shown, { depth: 9, showHidden: true })).not.toContain(apiKey);
      expect(JSON.stringify(shown)).not.toContain(apiKey);
    }
    expect((error as PaywrightError).message).toBe('Bearer [API key] is unknown');
    expect(() => connect({ apiKey: `${apiKey}\n${apiKey}` })).toThrow(
      /^apiKey must be printable ASCII without spaces$/,
    );
    expect(() => connect({ baseUrl: 'https://me:password@pay.example.com/api' })).toThrow(
      /^baseUrl must be a URL such as/,
    );
  });
});

describe('a setting that is no number', () => {
  it('is refused, instead of repeating for ever or ending every attempt at once', async () => {
    for (const options of [
      { maxRetries: Number.NaN },
      { maxRetries: -1 },
      { timeoutMs: Number.NaN },
      { timeoutMs: 0 },
    ]) {
      const { sent, connect } = serve(problem(429, 'rate_limited'));
      await expect(connect(options).transfers.create(transfer)).rejects.toThrow(/must be a number, at least/);
      await expect(connect().transfers.create(transfer, options)).rejects.toThrow(/must be a number, at least/);
      expect(sent).toEqual([]);
    }
  });

  it('waits as long as a timer can where more is asked for', async () => {
    for (const timeoutMs of [Number.POSITIVE_INFINITY, 2 ** 31]) {
      const { connect } = serve(async ({ init: { signal } }) => {
        await vi.advanceTimersByTimeAsync(60 * 60_000);
        signal?.throwIfAborted();
        return json(200, done)();
      });
      expect(await connect({ timeoutMs }).transfers.create(transfer)).toEqual(done);
    }
  });
});

describe('a list', () => {
  const pages = [
    json(200, { invoices: [{ id: 1 }, { id: 2 }], nextCursor: 'c/2' }),
    json(200, { invoices: [{ id: 3 }], nextCursor: null }),
  ];

  it('gives all items, or its first page', async () => {
    const { sent, connect } = serve(...pages);
    const ids: unknown[] = [];
    for await (const { id } of connect().invoices.list({ status: 'paid' })) ids.push(id);
    expect(ids).toEqual([1, 2, 3]);
    expect(sent.map(({ url }) => url)).toEqual([
      `${baseUrl}/invoices?status=paid`,
      `${baseUrl}/invoices?status=paid&cursor=c%2F2`,
    ]);
    const first = serve(...pages);
    expect(await first.connect().invoices.list()).toMatchObject({
      invoices: [{ id: 1 }, { id: 2 }],
      nextCursor: 'c/2',
    });
    expect(first.sent).toHaveLength(1);
  });

  it('asks for nothing before it is read, and for no page that is not needed', async () => {
    const { sent, connect } = serve(...pages);
    const list = connect().invoices.list();
    expect(sent).toEqual([]);
    for await (const _ of list) break;
    expect(sent).toHaveLength(1);
  });
});
