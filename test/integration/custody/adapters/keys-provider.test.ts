import { randomUUID } from 'node:crypto';
import { toHex } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createNetworks } from '../../../../src/chains/network.ts';
import { createKeysProvider } from '../../../../src/custody/adapters/keys/keys-provider.ts';
import { raiseFee } from '../../../../src/custody/treasury/commands.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { createSecrets } from '../../../../src/kernel/secrets/secrets.ts';
import { chains as facts } from '../../../../src/money/catalogue.ts';
import { describeWalletProvider } from '../../../contract/wallet-provider.ts';
import { useChains } from '../../../support/chains.ts';
import { useDatabase } from '../../../support/database.ts';
import { freePort } from '../../../support/process.ts';

const secrets = createSecrets('s'.repeat(32));
const logger = createLogger('silent');

describeWalletProvider('keys', async ({ database: { db }, chains: { networks } }) => ({
  provider: await createKeysProvider({ db, secrets, networks, logger }),
  async unreachable() {
    const urls = [`http://127.0.0.1:${await freePort()}`];
    const settings = new Map([['MATIC', { urls, confirmations: 1, pollMs: 100 }] as const]);
    return createKeysProvider({ db, secrets, networks: createNetworks(settings), logger });
  },
}));

describe('keys of our own on a chain that is slow', () => {
  const database = useDatabase();
  const { db } = database;
  const chains = useChains(database, { confirmations: 3 });

  async function begin(stuckAfterMs: number) {
    const provider = await createKeysProvider({ db, secrets, networks: chains.networks, logger, stuckAfterMs });
    const from = { ...(await provider.createWallet({ chain: 'MATIC' })), chain: 'MATIC' } as const;
    await chains.rpc('MATIC', 'hardhat_setBalance', [from.address, toHex(10n ** 18n)]);
    await chains.mint('MATIC', 'USDC', from.address, 1_000_000n);
    const to = privateKeyToAddress(generatePrivateKey());
    const send = (atomic: bigint, idempotencyKey = randomUUID()) =>
      provider.sendToken({ idempotencyKey, from, token: facts.MATIC.tokens.USDC, to, atomic });
    return { provider, from, to, send };
  }

  const attempts = async (id: string) => {
    const { rows } = await db.query<{ hash: string; maxFee: bigint; priorityFee: bigint }>(
      'SELECT hash, max_fee, priority_fee FROM key_transaction_attempts WHERE transaction_id = $1 ORDER BY max_fee',
      [id],
    );
    return rows;
  };

  test('a stuck transaction is replaced by one that pays more, and only one of them is mined', async () => {
    const { provider, to, send } = await begin(0);
    await chains.rpc('MATIC', 'evm_setAutomine', [false]);
    const ref = await send(7n);
    for (const _ of [1, 2, 3]) expect((await provider.lookUp('MATIC', ref)).state).toBe('pending');
    const tried = await attempts(ref);
    expect(tried).toHaveLength(4);
    for (const [index, { maxFee, priorityFee }] of tried.slice(1).entries()) {
      const before = tried[index];
      expect(maxFee * 10n).toBeGreaterThan((before?.maxFee ?? 0n) * 11n);
      expect(priorityFee * 10n).toBeGreaterThan((before?.priorityFee ?? 0n) * 11n);
    }
    await chains.rpc('MATIC', 'evm_setAutomine', [true]);
    await chains.mine('MATIC', 1);
    expect(await provider.lookUp('MATIC', ref)).toMatchObject({ state: 'pending', hash: tried.at(-1)?.hash });
    await chains.mine('MATIC', 2);
    expect(await provider.lookUp('MATIC', ref)).toMatchObject({ state: 'confirmed', hash: tried.at(-1)?.hash });
    expect(await chains.balanceOf('MATIC', 'USDC', to)).toBe(7n);
    expect(await provider.lookUp('MATIC', ref)).toMatchObject({ state: 'confirmed' });
  });

  test('no more than 20 fees are tried by itself; the operator lets more be tried for one transaction', async () => {
    const { provider, from, send } = await begin(0);
    await chains.rpc('MATIC', 'evm_setAutomine', [false]);
    onTestFinished(async () => void (await chains.rpc('MATIC', 'evm_setAutomine', [true])));
    const ref = await send(8n);
    const sagaId = `wdr_${randomUUID()}`;
    await db.query(
      `WITH wallet AS (
         INSERT INTO house_wallets (id, purpose, chain, provider, provider_ref, address)
         VALUES ('wal_stuck', 'treasury', 'MATIC', 'keys', $4, $5) RETURNING id)
       INSERT INTO chain_steps (id, saga, saga_id, step, chain, wallet_id, state, asked_at, provider_ref)
       SELECT $1, 'withdrawal', $2, 'pay', 'MATIC', id, 'taken', now(), $3 FROM wallet`,
      [randomUUID(), sagaId, ref, from.ref, from.address],
    );
    const look = () => provider.lookUp('MATIC', ref);
    for (let place = 1; place < 20; place++) await look();
    expect(await look()).toMatchObject({ waitsFor: expect.stringContaining('the operator: 20 fees were tried') });
    expect(await attempts(ref)).toHaveLength(20);

    const said: string[] = [];
    const raise = (id: string, times?: string) => raiseFee(db, { sagaId: id, times }, (line) => void said.push(line));
    await expect(raise(sagaId)).rejects.toThrow('pay: fee 20 of 20');
    await expect(raise('wdr_none', '22')).rejects.toThrow('wdr_none has no open transaction.');
    for (const times of ['20', '101', '-1', 'many'])
      await expect(raise(sagaId, times)).rejects.toThrow('from 21 to 100');
    expect(await look()).toMatchObject({ waitsFor: expect.stringContaining('the operator') });
    for (const times of ['22', '21', '22']) await raise(sagaId, times);
    expect(new Set(said)).toEqual(
      new Set([`${sagaId} pay: 20 fees were tried, and up to 22 are allowed. FEE_CEILING_GWEI still applies.`]),
    );
    for (let place = 0; place < 4; place++) await look();
    expect(await attempts(ref)).toHaveLength(22);
    await chains.rpc('MATIC', 'evm_setAutomine', [true]);
    await chains.mine('MATIC', 3);
    expect(await look()).toMatchObject({ state: 'confirmed' });
  });

  test('one that waits behind another is not stuck itself', async () => {
    const { provider, to, send } = await begin(0);
    await chains.rpc('MATIC', 'evm_setAutomine', [false]);
    const [first, second] = [await send(1n), await send(2n)];
    await provider.lookUp('MATIC', second);
    await provider.lookUp('MATIC', first);
    expect(await attempts(second)).toHaveLength(1);
    expect(await attempts(first)).toHaveLength(2);
    await chains.rpc('MATIC', 'evm_setAutomine', [true]);
    await chains.mine('MATIC', 3);
    for (const ref of [first, second]) expect((await provider.lookUp('MATIC', ref)).state).toBe('confirmed');
    expect(await chains.balanceOf('MATIC', 'USDC', to)).toBe(3n);
  });

  test('what the chain forgot is sent again, with the same signature', async () => {
    const { provider, to, send } = await begin(60_000);
    await chains.rpc('MATIC', 'evm_setAutomine', [false]);
    const ref = await send(5n);
    const [only] = await attempts(ref);
    expect(await chains.rpc('MATIC', 'hardhat_dropTransaction', [only?.hash])).toBe(true);
    await provider.lookUp('MATIC', ref);
    await chains.rpc('MATIC', 'evm_setAutomine', [true]);
    await chains.mine('MATIC', 3);
    expect(await provider.lookUp('MATIC', ref)).toMatchObject({ state: 'confirmed', hash: only?.hash });
    expect(await chains.balanceOf('MATIC', 'USDC', to)).toBe(5n);
    expect(await attempts(ref)).toHaveLength(1);
  });

  test('a reorganisation takes a transaction back, and it is mined again, once', async () => {
    const { provider, to, send } = await begin(60_000);
    const before = await chains.rpc('MATIC', 'evm_snapshot');
    const ref = await send(9n);
    expect((await provider.lookUp('MATIC', ref)).state).toBe('pending');
    expect(await chains.balanceOf('MATIC', 'USDC', to)).toBe(9n);
    await chains.rpc('MATIC', 'evm_revert', [before]);
    expect(await chains.balanceOf('MATIC', 'USDC', to)).toBe(0n);
    expect((await provider.lookUp('MATIC', ref)).state).toBe('pending');
    await chains.mine('MATIC', 3);
    expect((await provider.lookUp('MATIC', ref)).state).toBe('confirmed');
    expect(await chains.balanceOf('MATIC', 'USDC', to)).toBe(9n);
  });

  test('one key is one transaction: other contents under it are refused', async () => {
    const { send } = await begin(60_000);
    const key = randomUUID();
    expect(await send(1n, key)).toBe(await send(1n, key));
    await expect(send(2n, key)).rejects.toMatchObject({
      code: 'idempotency_mismatch',
      retryable: false,
      provesNothingTaken: false,
    });
  });

  test('what was refused stays refused, even when it could be paid later', async () => {
    const { from, send } = await begin(60_000);
    const key = randomUUID();
    const forGood = { code: 'rejected', retryable: false, provesNothingTaken: true };
    await expect(send(2_000_000n, key)).rejects.toMatchObject(forGood);
    await chains.mint('MATIC', 'USDC', from.address, 2_000_000n);
    await expect(send(2_000_000n, key)).rejects.toMatchObject(forGood);
    await send(2_000_000n);
  });

  test('a wallet without gas waits: nothing is signed, and the same key is paid once there is some', async () => {
    const { from, to, send } = await begin(60_000);
    await chains.rpc('MATIC', 'hardhat_setBalance', [from.address, '0x0']);
    const key = randomUUID();
    await expect(send(3n, key)).rejects.toMatchObject({ code: 'insufficient_gas', retryable: true });
    await chains.rpc('MATIC', 'hardhat_setBalance', [from.address, toHex(10n ** 18n)]);
    await send(3n, key);
    expect(await chains.balanceOf('MATIC', 'USDC', to)).toBe(3n);
  });
});
