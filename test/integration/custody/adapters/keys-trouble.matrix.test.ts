import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { toHex } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { beforeEach, describe, expect, test } from 'vitest';
import { usualCeiling } from '../../../../src/chains/gas-fee-ceiling.ts';
import { createKeysProvider } from '../../../../src/custody/adapters/keys/keys-provider.ts';
import { gasNeeded } from '../../../../src/custody/sweeps/advance-coin-sweep.ts';
import type { HeldWallet, UnknownTransaction } from '../../../../src/custody/wallets/provider.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { createSecrets } from '../../../../src/kernel/secrets/secrets.ts';
import { chains as facts } from '../../../../src/money/catalogue.ts';
import { useChains } from '../../../support/chains.ts';
import { useDatabase } from '../../../support/database.ts';
import { oneOfMany } from '../../../support/matrix.ts';
import { startUnrulyRpc, type UnrulyRpc } from '../../../support/unruly-rpc.ts';

const database = useDatabase();
const { db } = database;
const chains = useChains(database);
const secrets = createSecrets('s'.repeat(32));

let logged = '';
const logger = createLogger(
  'debug',
  new Writable({
    write(chunk, _encoding, done) {
      logged += chunk;
      done();
    },
  }),
);
beforeEach(() => {
  logged = '';
});

/** A wallet with gas and a USDC, whose provider reaches the chain through a node that may be told to misbehave. */
async function begin() {
  const settings = chains.local.settings.get('MATIC');
  if (settings === undefined) throw new Error('there is no Polygon');
  const rpc: UnrulyRpc = await startUnrulyRpc('MATIC', { ...settings, pollMs: 20 });
  const networks = new Map([['MATIC', rpc.network] as const]);
  const provider = await createKeysProvider({ db, secrets, networks, logger, stuckAfterMs: 60_000 });
  const from: HeldWallet = { ...(await provider.createWallet({ chain: 'MATIC' })), chain: 'MATIC' };
  await chains.rpc('MATIC', 'hardhat_setBalance', [from.address, toHex(10n ** 18n)]);
  await chains.mint('MATIC', 'USDC', from.address, 1_000_000n);
  const to = privateKeyToAddress(generatePrivateKey());
  const send = (atomic: bigint, idempotencyKey: string = randomUUID()) =>
    provider.sendToken({ idempotencyKey, from, token: facts.MATIC.tokens.USDC, to, atomic });
  const received = () => chains.balanceOf('MATIC', 'USDC', to);
  return { rpc, provider, from, to, send, received };
}

const rateLimited = {
  error: { code: -32_005, message: 'daily request count exceeded', data: { rate: { allowed: 1 } } },
};

describe('a node that limits its callers', () => {
  for (const method of ['eth_estimateGas', 'eth_getBalance', 'eth_getTransactionCount', 'eth_getBlockByNumber']) {
    test(
      `is asked again later when it refuses ${method}, and pays then`,
      oneOfMany({ isRepresentative: method === 'eth_getTransactionCount' }),
      async () => {
        const { rpc, send, received } = await begin();
        const key = randomUUID();
        rpc.misbehave((call) => (call.method === method ? rateLimited : undefined));
        await expect(send(5n, key)).rejects.toMatchObject({ name: 'ProviderError', retryable: true });
        rpc.misbehave(() => undefined);
        await send(5n, key);
        expect(await received()).toBe(5n);
      },
    );
  }
});

test('a node that lags behind by one question refuses nothing for good', async () => {
  const { rpc, send, received } = await begin();
  let asked = 0;
  rpc.misbehave((call) =>
    call.method === 'eth_estimateGas' && ++asked === 1
      ? { error: { code: 3, message: 'execution reverted: ERC20: transfer amount exceeds balance', data: '0x' } }
      : undefined,
  );
  await send(5n);
  expect(await received()).toBe(5n);
});

test('a node that never answers holds no connection to the database', { tags: ['matrix'] }, async () => {
  const { rpc, send } = await begin();
  rpc.misbehave((call) => (call.method === 'eth_estimateGas' ? 'silent' : undefined));
  // More than the pool has connections.
  const sends = Array.from({ length: 15 }, () => send(1n).catch((error: unknown) => error));
  await expect.poll(() => rpc.asked.get('eth_estimateGas') ?? 0).toBeGreaterThanOrEqual(15);
  const { rows } = await db.query<{ busy: bigint }>(
    `SELECT count(*) AS busy FROM pg_stat_activity
      WHERE datname = current_database() AND state LIKE 'idle in transaction%' AND application_name = 'paywright'`,
  );
  expect(rows[0]?.busy).toBe(0n);
  for (const outcome of await Promise.all(sends)) expect(outcome).toMatchObject({ retryable: true });
});

test('the node’s address, which may hold a key, is in no error and no log', async () => {
  const { rpc, provider, send } = await begin();
  const ref = await send(1n);
  rpc.misbehave(() => 'down');
  const outcomes = await Promise.allSettled([send(1n), provider.lookUp('MATIC', ref)]);
  rpc.misbehave((call) => (call.method === 'eth_sendRawTransaction' ? 'down' : undefined));
  await send(2n);
  for (const outcome of outcomes) {
    for (let error = outcome.status === 'rejected' ? outcome.reason : undefined; error; error = error.cause) {
      expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toContain('secret-path-key');
    }
  }
  expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
  expect(logged).toContain('a node refused a transaction');
  expect(logged).not.toContain('secret-path-key');
});

describe('a node that lies about the price', () => {
  const fees = async (id: string) => {
    const { rows } = await db.query<{ maxFee: bigint; priorityFee: bigint }>(
      'SELECT max_fee, priority_fee FROM key_transaction_attempts WHERE transaction_id = $1 ORDER BY max_fee',
      [id],
    );
    return rows.map((row) => ({ maxFee: row.maxFee, priorityFee: row.priorityFee }));
  };
  const { maxFee, priorityFee } = usualCeiling('MATIC');

  test('is paid no tip above the ceiling', async () => {
    const { rpc, from, send, received } = await begin();
    await chains.rpc('MATIC', 'hardhat_setBalance', [from.address, toHex(10n ** 24n)]);
    rpc.misbehave((call) => (call.method === 'eth_maxPriorityFeePerGas' ? { result: toHex(10n ** 17n) } : undefined));
    const [signed] = await fees(await send(5n));
    expect(signed?.priorityFee).toBe(priorityFee);
    expect(signed?.maxFee).toBeLessThanOrEqual(maxFee);
    expect(await received()).toBe(5n);
  });

  test('makes a payment wait and say so: nothing is signed, and no nonce is spent', async () => {
    const { rpc, from, send, received } = await begin();
    await chains.rpc('MATIC', 'hardhat_setBalance', [from.address, toHex(10n ** 24n)]);
    const key = randomUUID();
    rpc.misbehave((call) =>
      call.method === 'eth_maxPriorityFeePerGas' ? { result: toHex(priorityFee) } : rpc.dearBlocks(call, maxFee),
    );
    await expect(send(5n, key)).rejects.toMatchObject({
      code: 'above_ceiling',
      retryable: true,
      message: expect.stringContaining('FEE_CEILING_GWEI'),
    });
    const { rows } = await db.query('SELECT FROM key_transactions WHERE id = $1', [key]);
    expect(rows).toHaveLength(0);
    rpc.misbehave(() => undefined);
    // What the chain asks for is kept for a moment.
    await expect.poll(() => send(5n, key).catch(() => undefined)).toBe(key);
    expect(await received()).toBe(5n);
  });

  test('does not drive a replacement above it either', async () => {
    const { rpc, from, send } = await begin();
    await chains.rpc('MATIC', 'hardhat_setBalance', [from.address, toHex(10n ** 24n)]);
    const impatient = await createKeysProvider({
      db,
      secrets,
      networks: new Map([['MATIC', rpc.network] as const]),
      logger,
      stuckAfterMs: 0,
    });
    await chains.rpc('MATIC', 'evm_setAutomine', [false]);
    try {
      const ref = await send(5n);
      rpc.misbehave((call) => (call.method === 'eth_maxPriorityFeePerGas' ? { result: toHex(10n ** 17n) } : undefined));
      expect(await impatient.lookUp('MATIC', ref)).not.toHaveProperty('waitsFor');
      expect((await fees(ref)).at(-1)?.priorityFee).toBe(priorityFee);
      expect(await impatient.lookUp('MATIC', ref)).toMatchObject({
        state: 'pending',
        waitsFor: expect.stringContaining('FEE_CEILING_GWEI'),
      });
      expect(await fees(ref)).toHaveLength(2);
    } finally {
      await chains.rpc('MATIC', 'evm_setAutomine', [true]);
      await chains.mine('MATIC');
    }
  });

  test('is not believed that a payment has cost more than it offers', async () => {
    const { rpc, provider, send } = await begin();
    const ref = await send(5n);
    const dear = { gasUsed: toHex(10n ** 9n), effectiveGasPrice: toHex(10n ** 18n), l1Fee: toHex(10n ** 24n) };
    rpc.misbehave(({ method }) =>
      method === 'eth_getTransactionReceipt' ? (receipt: object) => ({ ...receipt, ...dear }) : undefined,
    );
    const [offered] = await fees(ref);
    const { rows } = await db.query<{ gasLimit: bigint }>('SELECT gas_limit FROM key_transactions WHERE id = $1', [
      ref,
    ]);
    const gasCost = (rows[0]?.gasLimit ?? 0n) * (offered?.maxFee ?? 0n);
    expect(await provider.lookUp('MATIC', ref)).toMatchObject({ state: 'confirmed', gasCost });
  });

  test('is not believed that a payment takes more gas than any of ours', async () => {
    const { rpc, send } = await begin();
    rpc.misbehave((call) => (call.method === 'eth_estimateGas' ? { result: toHex(10_000_001n) } : undefined));
    await expect(send(5n)).rejects.toMatchObject({
      code: 'above_ceiling',
      retryable: true,
      message: expect.stringContaining('is allowed'),
    });
  });

  test('makes nobody lend more than the ceiling, and nothing above it', async () => {
    const { rpc } = await begin();
    const gas = 100_000n;
    rpc.misbehave((call) => (call.method === 'eth_maxPriorityFeePerGas' ? { result: toHex(10n ** 20n) } : undefined));
    const needed = await gasNeeded(rpc.network, gas);
    expect(needed).toBeLessThanOrEqual(gas * maxFee);
    expect(needed).toBeGreaterThan(gas * priorityFee);
    rpc.misbehave((call) => rpc.dearBlocks(call, maxFee));
    await expect(gasNeeded(rpc.network, gas)).rejects.toThrow('FEE_CEILING_GWEI');
  });
});

describe('nonces that were never drawn here', () => {
  /** As if the database were put back to before the wallet has sent anything. */
  async function forget({ address }: HeldWallet): Promise<void> {
    await db.query(
      'DELETE FROM key_transaction_attempts WHERE transaction_id IN (SELECT id FROM key_transactions WHERE sender = $1)',
      [address],
    );
    await db.query('DELETE FROM key_transactions WHERE sender = $1', [address]);
    await db.query('DELETE FROM key_nonces WHERE sender = $1', [address]);
  }

  test('are not believed in when a node says so and nothing that our key has signed proves it', async () => {
    const { rpc, send, received } = await begin();
    const key = randomUUID();
    rpc.misbehave((call) => (call.method === 'eth_getTransactionCount' ? { result: '0x5' } : undefined));
    await expect(send(5n, key)).rejects.toMatchObject({
      code: 'chain_is_ahead',
      retryable: true,
      message: expect.stringContaining('nonce 0'),
    });
    rpc.misbehave(() => undefined);
    await send(5n, key);
    expect(await received()).toBe(5n);
  });

  test('are not proven by what our key has signed for another chain', async () => {
    const { rpc, from, send, received } = await begin();
    const networks = new Map([['BASE', chains.network('BASE')] as const]);
    const elsewhere = await createKeysProvider({ db, secrets, networks, logger });
    await chains.rpc('BASE', 'hardhat_setBalance', [from.address, toHex(10n ** 18n)]);
    const ref = await elsewhere.execute({
      idempotencyKey: randomUUID(),
      from: { ...from, chain: 'BASE' },
      contract: from.address,
      data: '0x',
    });
    const { hash } = (await elsewhere.lookUp('BASE', ref)) as { hash: string };
    const [sent, receipt] = [
      await chains.rpc('BASE', 'eth_getTransactionByHash', [hash]),
      await chains.rpc('BASE', 'eth_getTransactionReceipt', [hash]),
    ];
    const key = randomUUID();
    rpc.misbehave(({ method, params }) => {
      if (method === 'eth_getTransactionCount') return { result: params[1] === '0x0' ? '0x0' : '0x1' };
      if (method === 'eth_getBlockByNumber' && params[1] === true)
        return (block: object) => ({ ...block, transactions: [sent] });
      if (method === 'eth_getTransactionByHash') return { result: sent };
      return method === 'eth_getTransactionReceipt' ? { result: receipt } : undefined;
    });
    await expect(send(5n, key)).rejects.toMatchObject({ code: 'chain_is_ahead', retryable: true });
    rpc.misbehave(() => undefined);
    await send(5n, key);
    expect(await received()).toBe(5n);
  });

  test('are waited for while they may still be undone', async () => {
    const { provider, from, send, received } = await begin();
    await chains.rpc('MATIC', 'evm_setAutomine', [false]);
    await send(5n);
    await forget(from);
    await expect(send(6n)).rejects.toMatchObject({ code: 'chain_is_ahead', retryable: true });
    await chains.rpc('MATIC', 'evm_setAutomine', [true]);
    await chains.mine('MATIC');
    await send(6n);
    expect(await received()).toBe(11n);
    expect(ofSender(await provider.unknown.list(), from)).toMatchObject([{ nonce: 0, holds: [] }]);
  });

  test('hold everything from there when nobody can say what they were used for', async () => {
    const { rpc, provider, from, to, send, received } = await begin();
    await provider.execute({ idempotencyKey: randomUUID(), from, contract: to, data: '0x', value: 1n });
    await send(5n);
    await forget(from);
    const newest = toHex(await rpc.network.client.getBlockNumber());
    // A node that remembers no state but the newest. What native coin did stands in no log.
    rpc.misbehave(({ method, params }) =>
      method === 'eth_getTransactionCount' && params[1] !== 'pending' && params[1] !== newest
        ? { error: { code: -32_000, message: 'missing trie node' } }
        : undefined,
    );
    const key = randomUUID();
    await expect(send(6n, key)).rejects.toMatchObject({
      code: 'perhaps_paid',
      message: expect.stringContaining('the transaction with nonce 0'),
    });
    const [first, second] = ofSender(await provider.unknown.list(), from);
    expect(first).toMatchObject({ nonce: 0, sent: undefined, holds: [key] });
    expect(second).toMatchObject({ nonce: 1, sent: { to: facts.MATIC.tokens.USDC }, holds: [] });
    await expect(provider.unknown.adopt(first?.id ?? 0n, key)).rejects.toThrow('does not match');
    await provider.unknown.dismiss(first?.id ?? 0n);
    await expect(provider.unknown.dismiss(first?.id ?? 0n)).rejects.toThrow('already explained');
    await send(6n, key);
    // What was sent already, to the last unit, waits still.
    await expect(send(5n)).rejects.toMatchObject({ code: 'perhaps_paid' });
    expect(await received()).toBe(11n);
  });

  const ofSender = (all: readonly UnknownTransaction[], { address }: HeldWallet) =>
    all.filter(({ sender }) => sender === address);
});

describe('a wallet’s queue has no hole', () => {
  test('what a deep reorganisation has undone is sent again by whoever comes after', async () => {
    const { provider, send, received } = await begin();
    const before = await chains.rpc('MATIC', 'evm_snapshot');
    const first = await send(3n);
    expect((await provider.lookUp('MATIC', first)).state).toBe('confirmed');
    await chains.rpc('MATIC', 'evm_revert', [before]);
    expect(await received()).toBe(0n);
    const second = await send(4n);
    await expect.poll(async () => (await provider.lookUp('MATIC', second)).state).toBe('confirmed');
    expect(await received()).toBe(7n);
  });

  test('a nonce that somebody else has used is told, and nothing is decided', async () => {
    const { rpc, provider, from, send } = await begin();
    rpc.misbehave((call) =>
      call.method === 'eth_sendRawTransaction' ? { error: { code: -32_000, message: 'nonce too low' } } : undefined,
    );
    const ref = await send(1n);
    await chains.rpc('MATIC', 'hardhat_setNonce', [from.address, '0x1']);
    expect((await provider.lookUp('MATIC', ref)).state).toBe('pending');
    expect(logged).toContain('by a transaction that is not ours');
  });

  test('a transaction that is mined between two questions is no nonce that somebody else has used', async () => {
    const { rpc, provider, send, received } = await begin();
    const ref = await send(2n);
    let isCounted = false;
    rpc.misbehave(({ method }) => {
      if (method === 'eth_getTransactionCount') isCounted = true;
      return method === 'eth_getTransactionReceipt' && !isCounted ? { result: null } : undefined;
    });
    expect((await provider.lookUp('MATIC', ref)).state).toBe('confirmed');
    expect(isCounted).toBe(true);
    expect(logged).not.toContain('by a transaction that is not ours');
    expect(await received()).toBe(2n);
  });
});
