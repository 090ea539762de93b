import { parseGwei } from 'viem';
import { expect, test } from 'vitest';
import { mintAccount } from '../accounts.ts';
import { orderSends } from './order-sends.ts';

const base = { chainId: 137, to: mintAccount.address, gas: 21_000n } as const;

async function send(nonce: number, type: 'legacy' | 'eip1559') {
  const raw = await mintAccount.signTransaction(
    type === 'legacy'
      ? { ...base, nonce, type, gasPrice: parseGwei('1') }
      : { ...base, nonce, type, maxFeePerGas: parseGwei('1') },
  );
  return { nonce, calls: [{ method: 'eth_sendRawTransaction', params: [raw] }] };
}

test('transactions come in the order of their nonces, and pass nothing else', async () => {
  const snapshot = { nonce: -1, calls: [{ method: 'evm_snapshot', params: [] }] };
  const items = [
    await send(300, 'eip1559'),
    await send(2, 'legacy'),
    await send(0, 'eip1559'),
    await send(128, 'legacy'),
    snapshot,
    await send(1, 'legacy'),
  ];
  expect(orderSends(items).map(({ nonce }) => nonce)).toEqual([0, 2, 128, 300, -1, 1]);
});

test('what is no transaction stays, for the node to refuse', () => {
  const items = ['0x', 'x', undefined, '0x02c0'].map((raw) => ({
    calls: [{ method: 'eth_sendRawTransaction', params: [raw] }],
  }));
  expect(orderSends(items)).toEqual(items);
});
