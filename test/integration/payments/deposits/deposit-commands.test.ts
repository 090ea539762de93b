import { Command } from 'commander';
import { beforeEach, expect, test } from 'vitest';
import { Refusal } from '../../../../src/kernel/refusal.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { homeChain } from '../../../../src/money/catalogue.ts';
import { checkHeldDeposits } from '../../../../src/payments/deposits/check-held-deposits.ts';
import { addDepositCommands } from '../../../../src/payments/deposits/commands.ts';
import { oneNodeLimit } from '../../../../src/payments/deposits/one-node-limit.ts';
import { endLeases, readUp, type User, useDepositWorld } from '../../../support/deposits.ts';
import { transfer } from '../../../support/ledger.ts';

const world = useDepositWorld({ pollMs: 10 });
const { chains, database } = world;
const { db } = database;

let user: User;
/** Owners of the deposits that other features were told of. */
const told: bigint[] = [];

/** What the command says, line by line. */
async function run(...words: readonly string[]): Promise<string[]> {
  const said: string[] = [];
  const program = new Command('paywright').exitOverride();
  const { ledger } = world;
  addDepositCommands(program, {
    withMoney: (work) => work({ db, ledger, networks: chains.networks }, { oneNodeLimit: undefined }),
    say: (line) => void said.push(line),
    onDeposits: async (_tx, _chain, deposits) => void told.push(...deposits.map(({ accountId }) => accountId)),
  });
  await program.parseAsync(['node', 'paywright', 'deposits', ...words]);
  return said;
}

/** One node, which is believed nothing. */
async function holdDeposit(atomic: bigint): Promise<string> {
  await chains.mint(homeChain, 'USDC', user.address, atomic);
  await endLeases(database);
  const reader = world.reader(homeChain, { oneNodeLimit: oneNodeLimit(0) });
  await readUp(reader);
  await reader.release();
  const { rows } = await db.query<{ id: string }>('SELECT id FROM held_deposits WHERE account_id = $1', [user.id]);
  expect(rows).toHaveLength(1);
  return rows[0]?.id ?? '';
}

async function look(): Promise<void> {
  const { ledger, log } = world;
  await checkHeldDeposits({ db, ledger, logger: log.logger }, chains.network(homeChain));
}

beforeEach(async () => {
  user = await world.newUser();
  if ((await db.query('SELECT FROM chain_cursors')).rows.length > 0) return;
  expect(await run('list')).toEqual(['No deposit is held or lost.']);
  expect(await run('list', '--held')).toEqual(['No deposit is held.']);
  await readUp(world.reader(homeChain));
});

test('what is held is listed with its reason, and credited by the service when the operator releases it', async () => {
  const id = await holdDeposit(5_000_000n);
  await look();
  const [line = ''] = await run('list', '--held');
  expect(line).toMatch(
    new RegExp(`^${id} {3}held +5 USDC on MATIC for PA-[0-9A-Z]{8} since .* only one host is configured`),
  );
  expect(await run('release', id)).toEqual([expect.stringContaining('The running service credits it')]);
  expect(await world.balance(user)).toBe(0n);
  expect((await run('list', '--held'))[0]).toMatch(/ released +5 USDC/);
  await expect(run('release', id)).rejects.toThrow(Refusal);
  await look();
  expect(await world.balance(user)).toBe(5_000_000n);
  await expect(run('release', id)).rejects.toThrow(`${id} is neither held nor reversed.`);
});

test('what is held is rejected, but not by mistake', async () => {
  const id = await holdDeposit(6_000_000n);
  await expect(run('reverse', id)).rejects.toThrow(
    'The deposit is on the chain, according to this machine. Use --force',
  );
  expect(await run('reverse', id, '--force')).toEqual([`${id} is rejected and will not be credited.`]);
  await expect(run('reverse', id, '--force')).rejects.toThrow('already rejected');
  await expect(run('reverse', id)).rejects.toThrow('already rejected');
  expect(await run('list')).toContainEqual(expect.stringMatching(new RegExp(`^${id} {3}rejected +6 USDC`)));
  expect(await run('list', '--held')).not.toContainEqual(expect.stringContaining(id));
  await look();
  expect(await world.balance(user)).toBe(0n);
});

test('what was credited is taken back, and the list says who owes the rest', async () => {
  const id = await holdDeposit(7_000_000n);
  await run('release', id);
  await look();
  await expect(run('reverse', id)).rejects.toThrow('is on the chain');
  await expect(run('reverse', 'dep_unknown')).rejects.toThrow('There is no deposit dep_unknown.');
  // As if it had been spent.
  const [thief] = await world.newUsers(1);
  const { ledger } = world;
  const { outcome } = await ledger.post(transfer(user.id, thief?.id ?? 0n, 3_000_000n));
  expect(outcome).toBe('posted');
  expect(await run('reverse', id, '--force')).toEqual([
    `${id} is reversed: 4 USDC was taken from the balance, 3 USDC is owed.`,
  ]);
  expect(await run('list')).toContainEqual(
    expect.stringMatching(new RegExp(`^${id} {3}reversed +7 USDC on MATIC of (PA-\\w+) .* \\1 owes 3 USDC$`)),
  );
  await expect(run('reverse', id)).rejects.toThrow('already reversed');

  await expect(run('settle', id)).rejects.toThrow(`3 USDC is owed for ${id}. Choose either --collect or --write-off.`);
  await expect(run('settle', id, '--collect', '--write-off')).rejects.toThrow('Choose either');
  await expect(run('settle', id, '--collect', '--chain', 'MOON')).rejects.toThrow('The chain must be one of');
  for (const amount of ['0', '-1', 'all'])
    await expect(run('settle', id, '--write-off', `--amount=${amount}`)).rejects.toThrow(/--amount/);
  await expect(run('settle', id, '--collect')).rejects.toThrow('has only 0 USDC on MATIC');
  expect(
    (await ledger.post(transfer(thief?.id ?? 0n, user.id, 1_000_000n, { fee: amountOf('USDC', 0n) }))).outcome,
  ).toBe('posted');
  expect(await run('settle', id, '--collect')).toEqual([
    `1 USDC of the debt for ${id} is collected from the owner's balance on MATIC. 2 USDC is still owed.`,
  ]);
  expect(await run('settle', id, '--write-off', '--amount', '1.5')).toEqual([
    `1.5 USDC of the debt for ${id} is written off against the equity of the house. 0.5 USDC is still owed.`,
  ]);
  expect(await run('list')).toContainEqual(expect.stringMatching(new RegExp(`^${id} .* owes 0.5 USDC$`)));
  await run('settle', id, '--write-off');
  await expect(run('settle', id, '--write-off')).rejects.toThrow(`Nothing is owed for ${id} any more.`);
  await expect(run('settle', 'dep_unknown', '--collect')).rejects.toThrow('There is no deposit dep_unknown.');
});

test('what is held is listed however much was rejected before it', async () => {
  await db.query(
    `INSERT INTO held_deposits (id, chain, tx_hash, position, block_number, address, sender, asset, atomic, proofs, because,
        rejected_at)
     SELECT 'dep_00' || n, 'MATIC', '0x' || n, 0, 1, '0x1', '0x2', 'USDC', 1, '{}', 'it was invented', now()
       FROM generate_series(1, 1000) n`,
  );
  const id = await holdDeposit(8_000_000n);
  expect(await run('list', '--held')).toContainEqual(expect.stringContaining(id));
  expect(await run('list')).toContainEqual(expect.stringContaining(id));
});

test('blocks are read again: what is missing is booked once, with all that belongs to a deposit', async () => {
  const read = async () => {
    await endLeases(database);
    const reader = world.reader(homeChain);
    await readUp(reader);
    await reader.release();
  };
  const { client } = chains.network(homeChain);
  const from = String((await client.getBlockNumber()) + 1n);
  await chains.mint(homeChain, 'USDC', user.address, 3n);
  const missed = await world.newUser();
  await chains.mint(homeChain, 'USDC', missed.address, 4n);
  const to = String(await client.getBlockNumber());
  // The watcher does not know the second wallet, as if its node had not shown the log.
  await db.query("UPDATE wallets SET address = '0x' || repeat('ab', 20) WHERE account_id = $1", [missed.id]);
  await read();
  await db.query('UPDATE wallets SET address = $2 WHERE account_id = $1', [missed.id, missed.address]);
  expect([await world.balance(user), await world.balance(missed)]).toEqual([3n, 0n]);

  const options = ['--chain', homeChain, '--from', from, '--to', to];
  expect(await run('read', ...options)).toEqual([
    `Blocks ${from} to ${to} have 2 transfers to our wallets. Missing from the ledger: 1.`,
    expect.stringContaining('now booked or held'),
  ]);
  expect([await world.balance(user), await world.balance(missed)]).toEqual([3n, 4n]);
  expect(told).toEqual([missed.id]);
  expect(await run('read', ...options)).toEqual([
    expect.stringContaining('2 transfers to our wallets. Missing from the ledger: 0'),
  ]);
  expect([await world.balance(user), await world.balance(missed)]).toEqual([3n, 4n]);
});

test.each([
  ['a chain that there is not', ['--chain', 'DOGE', '--from', '1', '--to', '2'], 'The chain must be one of'],
  ['no number', ['--chain', 'MATIC', '--from', '-1', '--to', '2'], '--from must be a block number'],
  ['an end before the beginning', ['--chain', 'MATIC', '--from', '2', '--to', '1'], '--from 2 is after --to 1'],
  ['blocks that were not read yet', ['--chain', 'MATIC', '--from', '1', '--to', '999999'], 'has been read up to block'],
  ['a chain that was never read', ['--chain', 'OP', '--from', '1', '--to', '2'], 'OP has not been read yet'],
])('%s cannot be read again', async (_, options, reason) => {
  await expect(run('read', ...options)).rejects.toThrow(new RegExp(reason));
  await expect(run('read', ...options)).rejects.toThrow(Refusal);
});
