import { createWalletClient, http, parseAbi, toHex } from 'viem';
import { beforeEach, describe, expect, test } from 'vitest';
import { mintAccount } from '../../../../sandbox/accounts.ts';
import { multicallAddress, tokenAbi } from '../../../../src/chains/abi.ts';
import { encodeSubmission, type SignedAuthorization } from '../../../../src/chains/authorization.ts';
import { tokenOf } from '../../../../src/chains/network.ts';
import { dropStep, planStep } from '../../../../src/custody/steps/plan-step.ts';
import { listOpenSweeps } from '../../../../src/custody/sweeps/advance-sweep.ts';
import type { Sweeper, SweepOptions } from '../../../../src/custody/sweeps/sweep.ts';
import { sweepSaga } from '../../../../src/custody/sweeps/sweep-saga.ts';
import type { GasCosts } from '../../../../src/custody/treasury/gas-costs.ts';
import { houseWallet, listHouseWallets } from '../../../../src/custody/wallets/house-wallets.ts';
import { ProviderError, type WalletProvider } from '../../../../src/custody/wallets/provider.ts';
import { httpErrors } from '../../../../src/kernel/http/errors.ts';
import { type Checkpoint, Ended } from '../../../../src/kernel/sagas/checkpoint.ts';
import { houseAccount } from '../../../../src/ledger/account-id.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { type ChainId, chains as facts } from '../../../../src/money/catalogue.ts';
import { sweeperByHand } from '../../../support/custody.ts';
import { endAt, payAtOnce, readUp, type User, useDepositWorld } from '../../../support/deposits.ts';
import { oneOfMany } from '../../../support/matrix.ts';
import { until } from '../../../support/until.ts';

const world = useDepositWorld();
const { chains } = world;
const { db } = world.database;
const chain: ChainId = 'MATIC';
const usdc = facts[chain].tokens.USDC;

function sweeperWith(options: Partial<SweepOptions> = {}): Sweeper {
  const { ledger, provider, log } = world;
  return sweeperByHand(
    { db, ledger, provider, logger: log.logger, networks: chains.networks, threshold: 1n, gatherMs: 0, ...options },
    chains.network(chain),
  );
}

/** Reads what is new on the chain, and lets a sweep take its next steps, until none is under way and nothing is left. */
async function sweepUp(sweeper: Sweeper = sweeperWith()): Promise<void> {
  for (let round = 0; round < 20; round++) {
    await sweeper.step();
    await readChain();
    const { rows } = await db.query(
      `SELECT FROM deposits WHERE chain = $1 AND swept_at IS NULL AND account_id IS NOT NULL
       UNION ALL SELECT FROM sweeps WHERE chain = $1 AND finished_at IS NULL`,
      [chain],
    );
    if (rows.length === 0) return;
  }
  throw new Error('the sweeps come to no end');
}

async function readChain(): Promise<void> {
  const reader = world.reader(chain);
  await readUp(reader);
  await reader.release();
}

async function deposit(users: readonly User[], atomic: (user: User) => bigint, asset: 'USDC' | 'EURC' = 'USDC') {
  if (asset === 'USDC' && users.length > 2) {
    const payments = users.map((user) => [user.address, atomic(user)] as const);
    await payAtOnce(chains, chain, await chains.outsider(), payments);
  } else for (const user of users) await chains.mint(chain, asset, user.address, atomic(user));
  await readChain();
}

const treasuryHolds = async (asset: 'USDC' | 'EURC' = 'USDC') =>
  chains.balanceOf(chain, asset, (await houseWallet(db, 'treasury', chain)).address);

/** Everything of a token that any wallet of ours holds. */
async function holdings(asset: 'USDC' | 'EURC'): Promise<bigint> {
  const { rows } = await db.query<{ address: `0x${string}` }>('SELECT DISTINCT address FROM wallets');
  const house = await listHouseWallets(db);
  const addresses = new Set([...rows, ...house].map((wallet) => wallet.address));
  return (await balancesOf(asset, [...addresses])).reduce((sum, atomic) => sum + atomic, 0n);
}

/** In one question, because there are many of them. */
function balancesOf(asset: 'USDC' | 'EURC', addresses: readonly `0x${string}`[]): Promise<readonly bigint[]> {
  const network = chains.network(chain);
  const token = tokenOf(network, asset);
  if (token === undefined) throw new Error(`there is no ${asset}`);
  const { address } = token;
  return network.client.multicall({
    allowFailure: false,
    contracts: addresses.map(
      (owner) => ({ address, abi: tokenAbi, functionName: 'balanceOf', args: [owner] }) as const,
    ),
  });
}

async function houseBalance(account: ReturnType<typeof houseAccount>): Promise<bigint> {
  const { rows } = await db.query<{ balance: bigint }>('SELECT balance FROM ledger.accounts WHERE id = $1', [account]);
  return rows[0]?.balance ?? 0n;
}

async function fillGas(atomic = 10n ** 21n): Promise<void> {
  const { address } = await houseWallet(db, 'gas', chain);
  await chains.rpc(chain, 'hardhat_setBalance', [address, toHex(atomic)]);
}

beforeEach(async () => {
  await fillGas();
  await readChain();
  world.log.clear();
});

test('many wallets are swept in one transaction, and everything arrives', async () => {
  const users = await world.newUsers(50);
  const before = await treasuryHolds();
  const gasBefore = await houseBalance(houseAccount('gas', 'MATIC'));
  await deposit(users, ({ id }) => id + 1n);
  await deposit(users.slice(0, 10), () => 1_000n);
  const total = users.reduce((sum, { id }) => sum + id + 1n, 0n) + 10_000n;
  const held = await holdings('USDC');
  await sweepUp();
  expect((await treasuryHolds()) - before).toBe(total);
  expect(await holdings('USDC')).toBe(held);
  const left = await balancesOf(
    'USDC',
    users.map(({ address }) => address),
  );
  expect(left).toEqual(users.map(() => 0n));

  const { rows } = await db.query<{ status: string; txHash: `0x${string}`; items: bigint }>(
    `SELECT status, (SELECT hash FROM chain_steps c WHERE c.saga_id = s.id) AS tx_hash, (SELECT count(*) FROM sweep_items i WHERE i.sweep_id = s.id AND moved) AS items FROM sweeps s`,
  );
  expect(rows).toEqual([{ status: 'complete', txHash: expect.any(String), items: 50n }]);
  const receipt = await chains.network(chain).client.getTransactionReceipt({ hash: rows[0]?.txHash ?? '0x' });
  const cost = receipt.gasUsed * receipt.effectiveGasPrice;
  expect(gasBefore - (await houseBalance(houseAccount('gas', 'MATIC')))).toBe(cost);
  expect(world.log.lines('warn')).toEqual([]);
});

test('EURC is swept too, and a wallet on a chain that its owner never asked for', { tags: ['matrix'] }, async () => {
  const [user] = await world.newUsers(1);
  if (user === undefined) throw new Error('nobody was made');
  const before = await treasuryHolds('EURC');
  await deposit([user], () => 77n, 'EURC');
  await sweepUp();
  expect((await treasuryHolds('EURC')) - before).toBe(77n);

  const base = chains.network('BASE');
  const reader = world.reader('BASE');
  await readUp(reader);
  await chains.mint('BASE', 'USDC', user.address, 55n);
  await readUp(reader);
  const [treasury, gas] = [await houseWallet(db, 'treasury', 'BASE'), await houseWallet(db, 'gas', 'BASE')];
  await chains.rpc('BASE', 'hardhat_setBalance', [gas.address, toHex(10n ** 20n)]);
  const { ledger, provider, log } = world;
  const sweeper = sweeperByHand(
    { db, ledger, provider, logger: log.logger, networks: chains.networks, threshold: 1n },
    base,
  );
  await sweeper.step();
  await readUp(reader);
  await sweeper.step();
  expect(await chains.balanceOf('BASE', 'USDC', treasury.address)).toBe(55n);
  expect(await listOpenSweeps(db, 'BASE')).toEqual([]);
  const { rows } = await db.query('SELECT chain FROM wallets WHERE account_id = $1 ORDER BY chain', [user.id]);
  expect(rows).toEqual([{ chain: 'BASE' }, { chain: 'MATIC' }]);
});

test('little is left where it is, until a withdrawal waits for it', async () => {
  const users = await world.newUsers(2);
  await deposit(users, ({ id }) => (id === users[0]?.id ? 999_999n : 1_000_000n));
  const before = await treasuryHolds();
  const sweeper = sweeperWith({ threshold: 1_000_000n });
  for (let round = 0; round < 3; round++) {
    await sweeper.step();
    await readChain();
  }
  expect((await treasuryHolds()) - before).toBe(1_000_000n);
  const waits = { sagaId: 'wdr_waits', step: 'pay' };
  const amount = amountOf('USDC', (await treasuryHolds()) + 1n);
  await db.transaction((tx) => planStep(tx, { saga: 'withdrawal', ...waits, chain, leaves: [{ amount }] }));
  await sweepUp(sweeper);
  expect((await treasuryHolds()) - before).toBe(1_999_999n);
  await db.transaction((tx) => dropStep(tx, waits));
});

test('what is not worth ten times its gas is left where it is, and so is everything while nobody knows the price', async () => {
  const users = await world.newUsers(2);
  await deposit(users, ({ id }) => (id === users[0]?.id ? 1_999_999n : 2_000_000n));
  const before = await treasuryHolds();
  const worth = (inUsdc: GasCosts['inUsdc']) =>
    sweeperWith({ worth: { market: { worth: async () => undefined }, gasCosts: { inUsdc }, timesGas: 10n } });
  const sweepThrice = async (sweeper: Sweeper) => {
    for (let round = 0; round < 3; round++) {
      await sweeper.step();
      await readChain();
    }
    return (await treasuryHolds()) - before;
  };
  expect(await sweepThrice(worth(() => Promise.reject(httpErrors.unavailable())))).toBe(0n);
  expect(await sweepThrice(worth(async () => 200_000n))).toBe(2_000_000n);
  await sweepUp();
  expect((await treasuryHolds()) - before).toBe(3_999_999n);
});

test('deposits gather for a while, but a full sweep is followed by the next at once', {
  tags: ['matrix'],
}, async () => {
  const users = await world.newUsers(5);
  await deposit(users, () => 100n);
  const before = await treasuryHolds();
  const sweeper = sweeperWith({ mostWallets: 2, gatherMs: 3_600_000 });
  for (let round = 0; round < 4; round++) {
    await sweeper.step();
    await readChain();
  }
  expect((await treasuryHolds()) - before).toBe(500n);
  await deposit(users.slice(0, 1), () => 100n);
  for (let round = 0; round < 3; round++) {
    await sweeper.step();
    await readChain();
  }
  expect((await treasuryHolds()) - before).toBe(500n);
  await sweepUp();
  expect((await treasuryHolds()) - before).toBe(600n);
});

/** Submits a sweep's authorizations as a stranger would who has seen them. */
async function frontRun(authorizations: readonly SignedAuthorization[]): Promise<void> {
  const mallory = await chains.outsider();
  const hash = await mallory.wallet().sendTransaction({
    to: multicallAddress,
    data: encodeSubmission(usdc, authorizations),
    chain: chains.network(chain).client.chain ?? null,
  });
  expect((await chains.network(chain).client.getTransactionReceipt({ hash })).status).toBe('success');
}

test('an authorization that somebody else submits first has done its work', async () => {
  const users = await world.newUsers(3);
  await deposit(users, () => 100n);
  const before = await treasuryHolds();
  await expect(sweeperWith({ checkpoint: endAt('sweep.written') }).step()).rejects.toThrow(Ended);
  const [sweep] = await listOpenSweeps(db, chain);
  const first = sweep?.items[0];
  if (first === undefined) throw new Error('nothing was signed');
  await frontRun([first]);
  await sweepUp();
  expect((await treasuryHolds()) - before).toBe(300n);
  const { rows } = await db.query('SELECT moved FROM sweep_items WHERE sweep_id = $1', [sweep?.id]);
  expect(rows).toEqual([{ moved: true }, { moved: true }, { moved: true }]);
});

/** Lets the issuer of the token do what only it can. */
async function asIssuer(functionName: 'blacklist' | 'unBlacklist', user: User): Promise<void> {
  const { client } = chains.network(chain);
  const [url = ''] = chains.local.settings.get(chain)?.urls ?? [];
  const issuer = createWalletClient({ account: mintAccount, chain: client.chain, transport: http(url) });
  const abi = parseAbi(['function blacklist(address)', 'function unBlacklist(address)']);
  await issuer.writeContract({ abi, address: usdc, functionName, args: [user.address], chain: client.chain ?? null });
}

/** Lets the chain's time pass, to the end of everything that was signed before. */
async function passAnHour(): Promise<void> {
  await chains.rpc(chain, 'evm_increaseTime', [3_600]);
  await chains.mine(chain);
  await readChain();
}

describe('an authorization that was not used', () => {
  test('is given up only when its time is over, and then its deposits are swept again', async () => {
    const [honest, blocked] = await world.newUsers(2);
    if (honest === undefined || blocked === undefined) throw new Error('too few users');
    await deposit([honest, blocked], () => 100n);
    const before = await treasuryHolds();
    await expect(sweeperWith({ checkpoint: endAt('sweep.written') }).step()).rejects.toThrow(Ended);
    await asIssuer('blacklist', blocked);
    const sweeper = sweeperWith();
    await sweeper.step();
    await readChain();
    await sweeper.step();
    expect((await treasuryHolds()) - before).toBe(100n);
    const [sweep] = await listOpenSweeps(db, chain);
    expect(sweep?.items.map(({ from, settled }) => [from, settled])).toEqual(
      expect.arrayContaining([
        [honest.address, true],
        [blocked.address, false],
      ]),
    );

    // Its nonce is free and its time not over: another sweep now could move the money twice.
    await asIssuer('unBlacklist', blocked);
    await readChain();
    await sweeperWith().step();
    expect((await db.query('SELECT FROM sweeps WHERE finished_at IS NULL')).rows).toHaveLength(1);
    expect((await treasuryHolds()) - before).toBe(100n);

    await passAnHour();
    await sweepUp();
    expect((await treasuryHolds()) - before).toBe(200n);
    const { rows } = await db.query('SELECT moved FROM sweep_items WHERE address = $1 ORDER BY moved', [
      blocked.address,
    ]);
    expect(rows).toEqual([{ moved: false }, { moved: true }]);
  });

  test('may still be used by somebody at the last moment, and nothing is counted twice', {
    tags: ['matrix'],
  }, async () => {
    const user = await world.newUser();
    await deposit([user], () => 100n);
    const before = await treasuryHolds();
    await expect(sweeperWith({ checkpoint: endAt('sweep.written') }).step()).rejects.toThrow(Ended);
    const [sweep] = await listOpenSweeps(db, chain);
    if (sweep === undefined) throw new Error('nothing was signed');
    await chains.rpc(chain, 'evm_increaseTime', [3_550]);
    await chains.mine(chain);
    await readChain();
    await sweeperWith().step();
    expect(await listOpenSweeps(db, chain)).toHaveLength(1);
    await frontRun(sweep.items);
    await chains.mint(chain, 'USDC', user.address, 30n);
    await passAnHour();
    await sweepUp();
    expect((await treasuryHolds()) - before).toBe(130n);
    expect((await db.query('SELECT status FROM sweeps WHERE id = $1', [sweep.id])).rows).toEqual([
      { status: 'complete' },
    ]);
  });
});

test('on a chain where nothing else is sent, the time of an authorization passes all the same', {
  tags: ['matrix'],
}, async () => {
  const user = await world.newUser();
  await deposit([user], () => 100n);
  const before = await treasuryHolds();
  const { client } = chains.network(chain);
  const height = await client.getBlockNumber();
  // Too little time to be worth sending: nobody was shown it, and its end is all that is waited for.
  await sweeperWith({ validSeconds: 2n }).step();
  const [sweep] = await listOpenSweeps(db, chain);
  // The chain's clock goes on, and no block is mined.
  await chains.rpc(chain, 'evm_increaseTime', [3]);
  await until('the sweep to come to its end', async () => {
    await sweeperWith({ threshold: 1_000_000n }).step();
    await readChain();
    return (await listOpenSweeps(db, chain)).length === 0;
  });
  expect((await db.query('SELECT status FROM sweeps WHERE id = $1', [sweep?.id])).rows).toEqual([{ status: 'failed' }]);
  expect((await client.getBlockNumber()) - height).toBe(1n);
  await sweepUp();
  expect((await treasuryHolds()) - before).toBe(100n);
});

test('a wallet that the issuer has blocked holds nobody else up, and is told of once', async () => {
  const [honest, blocked] = await world.newUsers(2);
  if (honest === undefined || blocked === undefined) throw new Error('too few users');
  await deposit([honest, blocked], () => 100n);
  await asIssuer('blacklist', blocked);
  await readChain();
  const before = await treasuryHolds();
  const sweeper = sweeperWith();
  for (let round = 0; round < 4; round++) {
    await sweeper.step();
    await readChain();
  }
  expect((await treasuryHolds()) - before).toBe(100n);
  expect(world.log.lines('error')).toEqual([expect.objectContaining({ chain, address: blocked.address })]);
  await asIssuer('unBlacklist', blocked);
  await readChain();
  await sweepUp();
  expect((await treasuryHolds()) - before).toBe(200n);
});

test('without gas a sweep waits, says so once, and goes on when there is some', { tags: ['matrix'] }, async () => {
  const users = await world.newUsers(2);
  await deposit(users, () => 100n);
  const before = await treasuryHolds();
  await fillGas(1n);
  const { log } = world;
  const sweeper = sweeperWith();
  for (let round = 0; round < 3; round++) await sweeper.step();
  expect(log.lines('error')).toEqual([expect.objectContaining({ trouble: expect.stringContaining('GasTankEmpty') })]);
  const { rows } = await db.query("SELECT waits_for FROM sweeps WHERE status = 'signed'");
  expect(rows).toEqual([{ waitsFor: expect.stringContaining('too little MATIC to sweep') }]);
  await fillGas();
  await sweepUp(sweeper);
  expect((await treasuryHolds()) - before).toBe(200n);
});

/** A provider whose calls fail for a while. */
function unreliable(fail: (call: keyof WalletProvider) => Error | undefined): WalletProvider {
  return new Proxy(world.provider, {
    get(target, name: keyof WalletProvider) {
      const value = target[name];
      if (typeof value !== 'function') return value;
      return async (...args: never[]) => {
        const error = fail(name);
        if (error !== undefined) throw error;
        return (value as (...args: never[]) => unknown)(...args);
      };
    },
  });
}

for (const call of ['signTypedData', 'execute', 'lookUp'] as const) {
  test(
    `a provider that is away at ${call} is waited for`,
    oneOfMany({ isRepresentative: call === 'execute' }),
    async () => {
      const users = await world.newUsers(2);
      await deposit(users, () => 100n);
      const before = await treasuryHolds();
      let away = true;
      const provider = unreliable((name) =>
        away && name === call
          ? new ProviderError('It is away.', { retryable: true, code: 'away', retryAfterMs: 1 })
          : undefined,
      );
      const sweeper = sweeperWith({ provider });
      for (let round = 0; round < 3; round++) await sweeper.step().catch(() => {});
      away = false;
      await sweepUp(sweeper);
      expect((await treasuryHolds()) - before).toBe(200n);
    },
  );
}

test('a sweep that the provider refuses for good is made anew when its authorizations are over', async () => {
  const users = await world.newUsers(2);
  await deposit(users, () => 100n);
  const before = await treasuryHolds();
  const provider = unreliable((name) =>
    name === 'execute' ? new ProviderError('Never.', { retryable: false, code: 'rejected' }) : undefined,
  );
  await sweeperWith({ provider }).step();
  expect(world.log.lines('error')).toEqual([expect.objectContaining({ trouble: expect.stringContaining('Never.') })]);
  await passAnHour();
  await sweeperWith({ provider }).step();
  await sweepUp();
  expect((await treasuryHolds()) - before).toBe(200n);
});

describe('when the process ends nothing is lost or doubled', () => {
  for (const name of sweepSaga.checkpoints) {
    test(`at ${name}`, oneOfMany({ isRepresentative: name === 'sweep.judged' }), async () => {
      const users = await world.newUsers(3);
      await deposit(users, ({ id }) => id);
      const total = users.reduce((sum, { id }) => sum + id, 0n);
      const [before, held, sent] = [await treasuryHolds(), await holdings('USDC'), await transactionsSent()];
      let ended = false;
      const checkpoint: Checkpoint = (reached) => {
        if (reached !== name || ended) return;
        ended = true;
        throw new Ended(name);
      };
      // Each step is a new process: what only memory knew is gone.
      for (let round = 0; round < 20 && !(ended && (await isSwept(users))); round++) {
        await sweeperWith({ checkpoint })
          .step()
          .catch((error: unknown) => {
            if (!(error instanceof Ended)) throw error;
          });
        await readChain();
      }
      expect(ended).toBe(true);
      await sweepUp();
      expect((await treasuryHolds()) - before).toBe(total);
      expect(await holdings('USDC')).toBe(held);
      const { rows } = await db.query<{ sweeps: bigint }>(
        `SELECT count(DISTINCT sweep_id) AS sweeps FROM sweep_items WHERE address = ANY ($1)`,
        [users.map(({ address }) => address)],
      );
      expect(rows).toEqual([{ sweeps: 1n }]);
      expect((await transactionsSent()) - sent).toBe(1n);
    });
  }

  async function transactionsSent(): Promise<bigint> {
    const { rows } = await db.query<{ sent: bigint }>('SELECT count(*) AS sent FROM key_transactions');
    return rows[0]?.sent ?? 0n;
  }

  async function isSwept(users: readonly User[]): Promise<boolean> {
    const { rows } = await db.query('SELECT FROM deposits WHERE account_id = ANY ($1) AND swept_at IS NULL', [
      users.map(({ id }) => id),
    ]);
    return rows.length === 0;
  }
});

test('two processes that sweep at once carry everything once', async () => {
  const users = await world.newUsers(12);
  await deposit(users, ({ id }) => id);
  const total = users.reduce((sum, { id }) => sum + id, 0n);
  const before = await treasuryHolds();
  const sweepers = Array.from({ length: 3 }, () => sweeperWith({ mostWallets: 5 }));
  for (let round = 0; round < 4; round++) {
    await Promise.allSettled(sweepers.map((sweeper) => sweeper.step()));
    await readChain();
  }
  await sweepUp();
  expect((await treasuryHolds()) - before).toBe(total);
});

test('the books are sound, custody is what our wallets hold, and gas what they paid', async () => {
  expect((await verifyLedger(db)).problems).toEqual([]);
  for (const asset of ['USDC', 'EURC'] as const) {
    expect(await holdings(asset)).toBe(-(await houseBalance(houseAccount('custody', asset))));
  }
  const { rows } = await db.query<{ paid: bigint }>(
    "SELECT coalesce(sum(gas_cost), 0) AS paid FROM key_transactions WHERE chain = 'MATIC'",
  );
  expect(-(await houseBalance(houseAccount('gas', 'MATIC')))).toBe(rows[0]?.paid ?? 0n);
});
