import { encodeFunctionData, type Hex, parseAbi } from 'viem';
import { afterAll, expect, test } from 'vitest';
import { mintAccount } from '../../src/sandbox/chains/mint-account.ts';
import { placeMintedToken } from '../../src/sandbox/chains/place-tokens.ts';
import { bridgedTokens } from '../../src/sandbox/chains/tokens.ts';
import { startChains, type TestChains } from '../support/chains.ts';
import { useDatabase } from '../support/database.ts';
import { appendEntries, forgetEntries, journalLength } from '../support/older-journal.ts';

const database = useDatabase();
const mintAbi = parseAbi(['function mint(address to, uint256 amount) returns (bool)']);
const recipient: Hex = '0x00000000000000000000000000000000000000aa';

let running: TestChains | undefined;
afterAll(() => running?.stop());

async function restart(): Promise<TestChains> {
  await running?.stop();
  running = await startChains(database);
  return running;
}

/** Makes the journal one from when DAI and WETH were Circle's contract, and its owner had some of both. */
async function makeOlder(owner: Hex): Promise<void> {
  for (const token of bridgedTokens('MATIC')) {
    const { address } = token;
    const removed = await forgetEntries(database.db, `method LIKE 'hardhat_set%' AND params ILIKE '["' || $1 || '"%'`, [
      address,
    ]);
    expect(removed).toBeGreaterThan(5);
    const mint = encodeFunctionData({ abi: mintAbi, args: [owner, 70n] });
    await appendEntries(database.db, 'MATIC', [
      { method: 'hardhat_impersonateAccount', params: [mintAccount.address] },
      ...placeMintedToken({ ...token, name: 'Older', currency: 'USD' }),
      { method: 'eth_sendTransaction', params: [{ from: mintAccount.address, to: address, data: mint }] },
      { method: 'hardhat_stopImpersonatingAccount', params: [mintAccount.address] },
    ]);
  }
}

test("a sandbox in which DAI and WETH were Circle's has the real ones after the next start, and nobody loses any", async () => {
  const before = await restart();
  const ada = await before.outsider();
  // A chain that mines nothing at the moment gets them too.
  await before.stop();
  running = undefined;
  await makeOlder(ada.address);
  await appendEntries(database.db, 'MATIC', [{ method: 'evm_setAutomine', params: [false] }]);

  const after = await restart();
  await after.rpc('MATIC', 'evm_setAutomine', [true]);
  const { client } = after.network('MATIC');
  for (const { asset, address, name } of bridgedTokens('MATIC')) {
    const abi = parseAbi(['function name() view returns (string)', 'function totalSupply() view returns (uint256)']);
    expect(await client.readContract({ abi, address, functionName: 'name' })).toBe(name);
    expect(await client.readContract({ abi, address, functionName: 'totalSupply' })).toBe(70n);
    expect(await after.balanceOf('MATIC', asset, address)).toBe(0n);
    const theirs = await ada.wallet().writeContract({
      abi: parseAbi(['function transfer(address to, uint256 value) returns (bool)']),
      address,
      functionName: 'transfer',
      args: [recipient, 30n],
      account: ada.account,
      chain: null,
    });
    expect((await client.getTransactionReceipt({ hash: theirs })).status).toBe('success');
    await after.mint('MATIC', asset, recipient, 5n);
    expect(await after.balanceOf('MATIC', asset, ada.address)).toBe(40n);
    expect(await after.balanceOf('MATIC', asset, recipient)).toBe(35n);
  }

  const length = await journalLength(database.db);
  const again = await restart();
  expect(await journalLength(database.db)).toBe(length);
  expect(await again.balanceOf('MATIC', 'DAI', recipient)).toBe(35n);
});
