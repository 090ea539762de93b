import { HttpRequestError, RpcRequestError, TimeoutError } from 'viem';
import { describe, expect, it, vi } from 'vitest';
import type { Logger } from '../log/logger.ts';
import { backOffMs, createErrorReporter, describeError, wasRefusedByNode, wasTooSlow } from './error-reporter.ts';

const url = 'https://rpc.example.com/v2/operators-key';
const down = new HttpRequestError({ url, body: { method: 'eth_blockNumber' }, details: `fetch of ${url} failed` });
const tooWide = new RpcRequestError({ url, body: {}, error: { code: -32_602, message: 'range too wide' } });

describe('trouble', () => {
  it('is told once, and again when it has changed or came back', () => {
    const logger = { error: vi.fn(), info: vi.fn() };
    const trouble = createErrorReporter(logger as unknown as Logger, { chain: 'MATIC' }, 'nothing works');
    trouble.report(down);
    trouble.report(down);
    trouble.report(tooWide);
    trouble.over();
    trouble.over();
    trouble.report(tooWide);
    expect(logger.error).toHaveBeenCalledTimes(3);
    expect(logger.info).toHaveBeenCalledTimes(1);
  });

  it('never names where the node is', () => {
    for (const error of [down, tooWide, new TimeoutError({ url, body: {} }), new Error(`no ${url}`), url]) {
      expect(describeError(error)).not.toContain('operators-key');
    }
    expect(describeError(tooWide)).toContain('range too wide');
  });

  it('is a refusal only when there was an answer', () => {
    expect([down, tooWide].map(wasRefusedByNode)).toEqual([false, true]);
    expect(wasRefusedByNode(new HttpRequestError({ url, status: 413 }))).toBe(true);
    expect(wasRefusedByNode(new HttpRequestError({ url, status: 502 }))).toBe(false);
    expect(wasTooSlow(new TimeoutError({ url, body: {} }))).toBe(true);
    expect(wasRefusedByNode(new Error('something else'))).toBe(false);
  });

  it('is waited out longer each time, up to a limit', () => {
    for (let failures = 1; failures < 100; failures++) {
      const wait = backOffMs(failures, { from: 100, most: 5_000 });
      const full = Math.min(5_000, 100 * 2 ** (failures - 1));
      expect(wait).toBeGreaterThanOrEqual(full / 2);
      expect(wait).toBeLessThanOrEqual(full);
    }
  });
});
