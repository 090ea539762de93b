import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { tokenAbi } from '../../src/chains/abi.ts';
import { chainIds } from '../../src/chains/chains.ts';
import { useChains } from '../support/chains.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();
const chains = useChains(database);
const someone = '0x00000000000000000000000000000000000a11ce';

describe('the contracts', () => {
  test.each(chainIds)('%s carries USDC as its clients know it', async (chain) => {
    const { client, tokens } = chains.network(chain);
    for (const { asset, address } of tokens) {
      const read = (functionName: 'name' | 'version') => client.readContract({ abi: tokenAbi, address, functionName });
      expect([await read('name'), await read('version')]).toEqual([asset === 'USDC' ? 'USD Coin' : 'Euro Coin', '2']);
      await chains.mint(chain, asset, someone, 5_000_000n);
      expect(await chains.balanceOf(chain, asset, someone)).toBe(5_000_000n);
    }
  });
});

test('a mint happens once per id', async () => {
  const mint = {
    id: randomUUID(),
    chain: 'MATIC',
    asset: 'USDC',
    to: '0x00000000000000000000000000000000000b0b00',
    atomic: 7n,
  } as const;
  const hashes = await Promise.all(Array.from({ length: 20 }, () => chains.faucet.mint(mint)));
  expect(new Set(hashes).size).toBe(1);
  expect(await chains.balanceOf('MATIC', 'USDC', mint.to)).toBe(7n);
});

test('an outsider pays', async () => {
  const ada = await chains.outsider({ tokens: [{ asset: 'USDC', atomic: 100n }] });
  const hash = await ada.sendToken({ asset: 'USDC', to: someone, atomic: 30n });
  expect((await chains.network('MATIC').client.getTransactionReceipt({ hash })).status).toBe('success');
  expect(await chains.balanceOf('MATIC', 'USDC', ada.address)).toBe(70n);
});
