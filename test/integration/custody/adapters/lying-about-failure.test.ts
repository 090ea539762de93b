import { randomUUID } from 'node:crypto';
import { toHex } from 'viem';
import { expect, test } from 'vitest';
import { createKeysProvider } from '../../../../src/custody/adapters/keys/keys-provider.ts';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { createSecrets } from '../../../../src/kernel/secrets/secrets.ts';
import { homeChain } from '../../../../src/money/catalogue.ts';
import { usdcOn } from '../../../support/arrivals.ts';
import { useDepositWorld } from '../../../support/deposits.ts';
import { networkOf, startNode } from '../../../support/lying-node.ts';

const world = useDepositWorld({ pollMs: 10 });
const { chains, database } = world;
const { db } = database;

async function begin() {
  const [liar, honest] = [await startNode(chains, homeChain, 2), await startNode(chains, homeChain, 3)];
  const network = networkOf(chains, homeChain, [liar.url, honest.url]);
  const provider = await createKeysProvider({
    db,
    networks: new Map([[homeChain, network]]),
    logger: world.log.logger,
    secrets: createSecrets('s'.repeat(32)),
  });
  const treasury = await houseWallet(db, 'treasury', homeChain);
  await chains.rpc(homeChain, 'hardhat_setBalance', [treasury.address, toHex(10n ** 20n)]);
  await chains.mint(homeChain, 'USDC', treasury.address, 1_000n);
  const { address: to } = await chains.outsider();
  const send = () =>
    provider.sendToken({ from: treasury, token: usdcOn(chains), to, atomic: 500n, idempotencyKey: randomUUID() });
  const received = () => chains.balanceOf(homeChain, 'USDC', to);
  const lie = () =>
    liar.misbehave(({ method }) =>
      method === 'eth_getTransactionReceipt'
        ? (receipt: object | null) => receipt && { ...receipt, status: '0x0', logs: [] }
        : undefined,
    );
  return { liar, honest, provider, treasury, send, received, lie };
}

test('a payment that was made is not given back because one node says that it was undone', async () => {
  const { liar, honest, provider, send, received, lie } = await begin();
  lie();
  const ref = await send();
  expect(await received()).toBe(500n);
  expect((await provider.lookUp(homeChain, ref)).state).toBe('pending');
  honest.misbehave(() => 'down');
  expect((await provider.lookUp(homeChain, ref)).state).toBe('pending');
  liar.misbehave(() => undefined);
  expect((await provider.lookUp(homeChain, ref)).state).toBe('confirmed');
});

test('a payment that nobody remembers is not made again because one node says that it was undone', async () => {
  const { provider, treasury, send, received, lie } = await begin();
  await send();
  // As if the database were put back to before the wallet has sent anything.
  await db.query('DELETE FROM key_transaction_attempts');
  await db.query('DELETE FROM key_transactions');
  await db.query('DELETE FROM key_nonces');
  lie();
  await expect(send()).rejects.toMatchObject({ code: 'perhaps_paid' });
  expect(await received()).toBe(500n);
  const unknown = await provider.unknown.list();
  expect(unknown.filter(({ sender }) => sender === treasury.address).at(-1)).toMatchObject({
    holds: [expect.any(String)],
  });
});
