import { describe, expect, it, vi } from 'vitest';
import { Paywright } from './index.js';

const encoder = new TextEncoder();
const mug = { title: 'Becher „Meer“ ☕', priceNum: 24 };

/** A search that is answered with these chunks, and then breaks off or goes on silently. */
function search(chunks: readonly (string | Uint8Array)[], end: 'close' | 'break' | 'silence') {
  const seen = { cancelled: false };
  const fetch = async (_: unknown, init: RequestInit = {}) => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        init.signal?.addEventListener('abort', () => {
          seen.cancelled = true;
          if (end === 'silence') controller.error(init.signal?.reason);
        });
      },
      pull(controller) {
        const chunk = chunks[sent++];
        if (chunk !== undefined) controller.enqueue(typeof chunk === 'string' ? encoder.encode(chunk) : chunk);
        else if (end === 'close') controller.close();
        else if (end === 'break') controller.error(new TypeError('terminated'));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
  };
  let sent = 0;
  const paywright = new Paywright({ apiKey: 'pa_live_x', baseUrl: 'https://pay.example.com/api', fetch });
  const start = (options?: { signal?: AbortSignal; timeoutMs?: number }) =>
    paywright.shopping.streamProducts({ q: 'mug', website: 'shop.example' }, options);
  return { seen, start };
}

describe('chunks that end anywhere', () => {
  const text = [
    ':\n\n',
    `event: result\ndata: ${JSON.stringify(mug)}\n\n`,
    ': a heartbeat\r\n',
    `event: result\r\nid: 7\r\ndata: ${JSON.stringify(mug)}\r\n\r\n`,
    'data: [1,\rdata:2]\rretry\r\r',
    'event: done\ndata: {"count":2}\n\n',
    'event: cut\ndata: {',
  ].join('');
  const bytes = encoder.encode(text);
  const expected = [
    { event: 'result', data: mug },
    { event: 'result', data: mug },
    { event: 'message', data: [1, 2] },
    { event: 'done', data: { count: 2 } },
  ];

  async function parse(chunks: readonly Uint8Array[]) {
    const events: unknown[] = [];
    for await (const event of search(chunks, 'close').start()) events.push(event);
    return events;
  }

  it('two of them', async () => {
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(await parse([bytes.subarray(0, cut), bytes.subarray(cut)]), `cut at ${cut}`).toEqual(expected);
    }
  });

  it('one for each byte', async () => {
    expect(await parse(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(expected);
  });
});

async function read(events: AsyncIterable<{ readonly event: string }>) {
  const names: string[] = [];
  try {
    for await (const { event } of events) names.push(event);
  } catch (error) {
    return { names, error };
  }
  return { names };
}

describe('a streaming search', () => {
  const result = `event: result\ndata: ${JSON.stringify(mug)}\n\n`;

  it('gives its events', async () => {
    const { start } = search([result, result, 'event: done\ndata: {"count":2}\n\n'], 'close');
    expect(await read(start())).toEqual({ names: ['result', 'result', 'done'] });
  });

  it('throws its error event', async () => {
    const problem = { code: 'merchant_unreachable', status: 502, detail: 'The shop is silent.', requestId: 'req_1' };
    const { start, seen } = search([result, `event: error\ndata: ${JSON.stringify(problem)}\n\n`], 'silence');
    expect(await read(start())).toMatchObject({
      names: ['result'],
      error: {
        name: 'PaywrightError',
        message: 'The shop is silent.',
        code: 'merchant_unreachable',
        requestId: 'req_1',
      },
    });
    expect(seen.cancelled).toBe(true);
  });

  it('tells when the connection is lost, and does not begin again', async () => {
    const { start } = search([result], 'break');
    expect(await read(start())).toMatchObject({ names: ['result'], error: { code: 'connection_lost' } });
  });

  it('tells when a proxy ends the stream before it is done', async () => {
    const { start } = search([result], 'close');
    expect(await read(start())).toMatchObject({ names: ['result'], error: { code: 'connection_lost' } });
  });

  it('ends when the caller leaves the loop, aborts, or gets nothing for too long', async () => {
    const left = search([result, result], 'silence');
    for await (const _ of left.start()) break;
    expect(left.seen.cancelled).toBe(true);

    const aborted = search([result], 'silence');
    const controller = new AbortController();
    const reason = new Error('enough');
    const reading = read(aborted.start({ signal: controller.signal }));
    controller.abort(reason);
    expect(await reading).toMatchObject({ error: reason });

    const silent = search([result], 'silence');
    vi.useFakeTimers();
    const waiting = read(silent.start({ timeoutMs: 20_000 }));
    await vi.advanceTimersByTimeAsync(20_000);
    vi.useRealTimers();
    expect(await waiting).toMatchObject({ names: ['result'], error: { code: 'timeout' } });
  });
});
