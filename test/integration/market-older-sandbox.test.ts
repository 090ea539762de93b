import { encodeFunctionData, type Hex, parseAbi } from 'viem';
import { afterAll, expect, test } from 'vitest';
import { mintAccount } from '../../src/sandbox/chains/mint-account.ts';
import { placeMintedToken } from '../../src/sandbox/chains/place-tokens.ts';
import { bridgedTokens } from '../../src/sandbox/chains/tokens.ts';
import { marketMaker } from '../../src/sandbox/uniswap/accounts.ts';
import { pools } from '../../src/sandbox/uniswap/pools.ts';
import { startChains, type TestChains } from '../support/chains.ts';
import { useDatabase } from '../support/database.ts';
import { appendEntries, forgetEntries, journalLength } from '../support/older-journal.ts';
import { pathOf, useMarket } from '../support/uniswap.ts';

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

/**
 * Makes the journal one from when DAI and WETH were Circle's contract, and its owner had some of both; and when there was
 * no market.
 */
async function makeOlder(owner: Hex): Promise<void> {
  const forgotten = await forgetEntries(
    database.db,
    `chain = 'MATIC' AND seq > (
       SELECT min(seq) FROM sandbox.chain_journal WHERE chain = 'MATIC' AND method = 'hardhat_stopImpersonatingAccount'
     ) AND seq <= (
       SELECT max(seq) FROM sandbox.chain_journal
       WHERE chain = 'MATIC' AND method = 'hardhat_stopImpersonatingAccount' AND params ILIKE '%' || $1 || '%'
     )`,
    [marketMaker.address],
  );
  expect(forgotten).toBeGreaterThan(40);
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

/** How many transactions the mint account has in the journal. */
async function mintsSent(): Promise<number> {
  const { rows } = await database.db.query<{ count: bigint }>(
    `SELECT count(*) FROM sandbox.chain_journal
     WHERE chain = 'MATIC' AND method = 'eth_sendTransaction' AND params ILIKE '%"from":"' || $1 || '"%'`,
    [mintAccount.address],
  );
  return Number(rows[0]?.count);
}

test("a sandbox in which DAI and WETH were Circle's has the real ones and a market after the next start, and nobody loses any", async () => {
  const before = await restart();
  const ada = await before.outsider();
  await before.stop();
  running = undefined;
  await makeOlder(ada.address);
  // A chain that mines nothing at the moment gets them too.
  await appendEntries(database.db, 'MATIC', [{ method: 'evm_setAutomine', params: [false] }]);

  const sentBefore = await mintsSent();
  const after = await restart();
  // No nonce was taken from a mint that was signed before.
  expect(Number(await after.rpc('MATIC', 'eth_getTransactionCount', [mintAccount.address, 'pending']))).toBe(
    sentBefore,
  );
  // Pools need blocks. Without any they wait, and one is enough for all of them.
  expect(await after.rpc('MATIC', 'eth_getCode', [pools[0]?.address, 'latest'])).toBe('0x');
  await after.mine('MATIC');
  await after.rpc('MATIC', 'evm_setAutomine', [true]);
  const { client } = after.network('MATIC');
  for (const { asset, address, name } of bridgedTokens('MATIC')) {
    const abi = parseAbi(['function name() view returns (string)']);
    expect(await client.readContract({ abi, address, functionName: 'name' })).toBe(name);
    expect(await after.balanceOf('MATIC', asset, address)).toBe(0n);
    await ada.sendToken({ asset, to: recipient, atomic: 30n });
    await after.mint('MATIC', asset, recipient, 5n);
    expect(await after.balanceOf('MATIC', asset, ada.address)).toBe(40n);
    expect(await after.balanceOf('MATIC', asset, recipient)).toBe(35n);
  }
  const market = useMarket(after);
  for (const pool of pools) expect(await market.priceOf(pool)).toBe(pool.reference);
  const grace = await after.outsider({ tokens: [{ asset: 'USDC', atomic: 3_000_000n }] });
  expect(await market.swap(grace, { path: pathOf('USDC', 'ETH'), amountIn: 3_000_000n })).toBeGreaterThan(
    9n * 10n ** 14n,
  );

  const length = await journalLength(database.db);
  const again = await restart();
  expect(await journalLength(database.db)).toBe(length);
  expect(await again.balanceOf('MATIC', 'DAI', recipient)).toBe(35n);
});
