import { RpcRequestError } from 'viem';
import { expect, it } from 'vitest';
import { toProviderError } from './rpc-errors.ts';

it('a reason that a contract chose can be stored', () => {
  const reason = `a\0b\uD800${'x'.repeat(100_000)}`;
  const error = new RpcRequestError({
    body: { method: 'eth_estimateGas' },
    url: 'http://node.example',
    error: { code: 3, message: `execution reverted: ${reason}` },
  });
  const { message, code } = toProviderError(error);
  expect(code).toBe('rejected');
  expect(message).toMatch(/^The contract reverts: ab/);
  expect(message.length).toBeLessThanOrEqual(500);
  expect(message).not.toContain('\0');
  expect(message.isWellFormed()).toBe(true);
});
