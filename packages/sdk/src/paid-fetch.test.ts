import { describe, expect, it } from 'vitest';
import { Paywright } from './index.js';

const apiKey = 'pa_live_secret';
const baseUrl = 'https://pay.example.com/api';
const url = 'https://seller.example/forecast?city=Lisbon';
const payment = { id: 'pur_1', amount: 0.01 };
const paid = {
  status: 200,
  headers: {
    'content-type': 'text/plain',
    'content-encoding': 'gzip',
    'content-length': '3',
    'set-cookie': ['a=1', 'b=2'],
  },
  body: 'sunny',
  encoding: 'utf8',
  truncated: false,
  paid: 0.01,
  payment,
};

interface Seen {
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly text: string;
}

/** A seller with this answer, and our service, which answers its payment. */
function open(seller: () => Response, service: { status?: number; body?: unknown } = {}) {
  const atSeller: Seen[] = [];
  const atService: Seen[] = [];
  const fetch = async (target: string | URL | Request, init?: RequestInit) => {
    const request = new Request(target, init);
    const isOurs = request.url.startsWith(baseUrl);
    const seen = {
      url: request.url,
      method: request.method,
      headers: Object.fromEntries(request.headers),
      text: await request.text(),
    };
    (isOurs ? atService : atSeller).push(seen);
    if (!isOurs) return seller();
    const { status = 200, body = paid } = service;
    return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } });
  };
  return { atSeller, atService, paywright: new Paywright({ apiKey, baseUrl, fetch }) };
}

const asks = () => new Response('{}', { status: 402 });

describe('fetching a URL that may cost something', () => {
  it('says whether the service cut the body', async () => {
    for (const truncated of [true, false]) {
      const { paywright } = open(asks, { body: { ...paid, truncated } });
      expect((await paywright.fetch(url, { maxAmount: 1 })).truncated).toBe(truncated);
    }
  });

  it('costs nothing where the answer is not 402', async () => {
    const { paywright, atSeller, atService } = open(() => new Response('free', { status: 404 }));
    const response = await paywright.fetch(url, { maxAmount: 1, headers: { 'X-Seller-Key': 'mine' } });
    expect([response.status, await response.text(), response.paid, response.payment]).toEqual([404, 'free', 0, null]);
    expect(atSeller).toEqual([{ url, method: 'GET', headers: { 'x-seller-key': 'mine' }, text: '' }]);
    expect(atService).toEqual([]);
  });

  it('has the service send the same request and pay, and answers like the seller', async () => {
    const { paywright, atSeller, atService } = open(asks);
    const response = await paywright.fetch(new URL(url), {
      maxAmount: '0.05',
      method: 'POST',
      body: new URLSearchParams({ q: 'ä' }),
      headers: { 'x-seller-key': 'mine' },
      note: 'For the trip',
      idempotencyKey: 'forecast-1',
    });
    expect(response).toBeInstanceOf(Response);
    expect([response.status, response.ok, response.url, response.paid, response.payment]).toEqual([
      200,
      true,
      url,
      0.01,
      payment,
    ]);
    expect(Object.fromEntries(response.headers)).toMatchObject({ 'content-type': 'text/plain' });
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect([response.headers.get('content-encoding'), response.headers.get('content-length')]).toEqual([null, null]);
    expect(await response.text()).toBe('sunny');
    expect(atService.map(({ url, method, text }) => [url, method, JSON.parse(text)])).toEqual([
      [
        `${baseUrl}/nano/pay`,
        'POST',
        {
          url,
          method: 'POST',
          maxAmount: '0.05',
          headers: { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8', 'x-seller-key': 'mine' },
          body: 'q=%C3%A4',
          note: 'For the trip',
        },
      ],
    ]);
    expect(atService[0]?.headers).toMatchObject({
      authorization: `Bearer ${apiKey}`,
      'idempotency-key': 'forecast-1',
      'duplicate-guard': 'on',
    });
    expect(JSON.stringify(atSeller)).not.toContain(apiKey);
  });

  it('gives binary and empty answers', async () => {
    const binary = open(asks, {
      body: { ...paid, body: Buffer.from([0, 255, 1]).toString('base64'), encoding: 'base64' },
    });
    const bytes = await (await binary.paywright.fetch(url, { maxAmount: 1 })).arrayBuffer();
    expect([...new Uint8Array(bytes)]).toEqual([0, 255, 1]);
    const empty = await open(asks, { body: { ...paid, status: 204, body: '' } }).paywright.fetch(url, { maxAmount: 1 });
    expect([empty.status, await empty.text()]).toEqual([204, '']);
  });

  it('throws what the service refuses, and what the owner has to approve', async () => {
    const above = { code: 'price_above_maximum', status: 409, detail: 'Too dear.', requestId: 'req_1', price: 2 };
    await expect(open(asks, { status: 409, body: above }).paywright.fetch(url, { maxAmount: 1 })).rejects.toMatchObject(
      above,
    );
    const asked = { status: 'approval_required', approvalId: 'apr_1', url: 'https://pay.example.com/approve/apr_1' };
    await expect(open(asks, { status: 202, body: asked }).paywright.fetch(url, { maxAmount: 1 })).rejects.toMatchObject(
      {
        code: 'approval_required',
        status: 202,
        approvalId: 'apr_1',
        message: expect.stringContaining(asked.url),
        idempotencyKey: expect.any(String),
      },
    );
  });

  it('never sends the API key to the URL', async () => {
    const { paywright, atSeller } = open(asks);
    for (const options of [
      { headers: { authorization: `Bearer ${apiKey}` } },
      { method: 'POST', body: JSON.stringify({ key: apiKey }) },
    ]) {
      await expect(paywright.fetch(url, { maxAmount: 1, ...options })).rejects.toThrow('the API key must not be sent');
    }
    await expect(paywright.fetch(`${url}&key=${apiKey}`, { maxAmount: 1 })).rejects.toThrow(
      'the API key must not be sent',
    );
    expect(atSeller).toEqual([]);
  });

  it('needs a maximum and a body that can be sent twice', async () => {
    const { paywright, atSeller } = open(asks);
    await expect(paywright.fetch(url, {} as never)).rejects.toThrow('maxAmount is required');
    await expect(paywright.fetch(url, undefined as never)).rejects.toThrow('maxAmount is required');
    const body = new Blob(['x']) as never;
    await expect(paywright.fetch(url, { maxAmount: 1, method: 'POST', body })).rejects.toThrow('body must be a string');
    expect(atSeller).toEqual([]);
  });

  it('pays nobody else that the URL redirects to', async () => {
    const redirected = (to: string) => () =>
      Object.defineProperties(asks(), { redirected: { value: true }, url: { value: to } });
    const elsewhere = open(redirected('https://other.example/pay'));
    await expect(elsewhere.paywright.fetch(url, { maxAmount: 1 })).rejects.toMatchObject({ code: 'redirected' });
    expect(elsewhere.atService).toEqual([]);
    const within = open(redirected('https://seller.example/v2/forecast'));
    await within.paywright.fetch(url, { maxAmount: 1 });
    expect(JSON.parse(within.atService[0]?.text ?? '')).toMatchObject({ url: 'https://seller.example/v2/forecast' });
  });
});
