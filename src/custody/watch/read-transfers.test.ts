import { toHex } from 'viem';
import { describe, expect, it } from 'vitest';
import { chooseRequests } from './read-transfers.ts';

const addresses = (count: number) => Array.from({ length: count }, (_, index) => toHex(index, { size: 20 }));

describe('logs are asked for', () => {
  it('by recipient while there are few, in one request of at most 500', () => {
    const requests = chooseRequests({ from: 1n, to: 2_000n }, addresses(1_200));
    expect(requests.map(({ blocks, recipients }) => [blocks, recipients?.length])).toEqual([
      [{ from: 1n, to: 2_000n }, 500],
      [{ from: 1n, to: 2_000n }, 500],
      [{ from: 1n, to: 2_000n }, 200],
    ]);
    expect(new Set(requests.flatMap(({ recipients }) => recipients)).size).toBe(1_200);
  });

  it('by block where naming everybody would take more requests, without a gap', () => {
    const requests = chooseRequests({ from: 10n, to: 69n }, addresses(100_000));
    expect(requests).toEqual([
      { blocks: { from: 10n, to: 34n } },
      { blocks: { from: 35n, to: 59n } },
      { blocks: { from: 60n, to: 69n } },
    ]);
  });

  it('of a single block, too', () => {
    expect(chooseRequests({ from: 7n, to: 7n }, addresses(100_000))).toEqual([{ blocks: { from: 7n, to: 7n } }]);
    expect(chooseRequests({ from: 7n, to: 7n }, addresses(1))).toHaveLength(1);
  });
});
