import { expect, test } from 'vitest';
import { userAccount } from '../../../../src/ledger/account-id.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import type { ChainId } from '../../../../src/money/catalogue.ts';
import { startWatchers } from '../../../../src/payments/deposits/watch-chains.ts';
import { payAtOnce, readUp, type User, useDepositWorld } from '../../../support/deposits.ts';
import { startUnrulyRpc } from '../../../support/unruly-rpc.ts';

const world = useDepositWorld();
const { chains } = world;
const { db } = world.database;

/** Deposits as much as their id to each of the users, ten in a transaction and then empty blocks, while nobody looks. */
async function depositUnseen(chain: ChainId, users: readonly User[], emptyBlocks: number): Promise<void> {
  const payer = await chains.outsider({ chains: [chain] });
  for (let start = 0; start < users.length; start += 10) {
    const payments = users.slice(start, start + 10).map(({ address, id }) => [address, id] as const);
    await payAtOnce(chains, chain, payer, payments);
    await chains.mine(chain, emptyBlocks);
  }
}

/** Everybody got what was sent to them, once. */
async function expectCredited(chain: ChainId, users: readonly User[]): Promise<void> {
  const { rows } = await db.query<{ id: bigint; balance: bigint }>(
    'SELECT owner_id AS id, balance FROM ledger.accounts WHERE id = ANY ($1) ORDER BY owner_id',
    [users.map(({ id }) => userAccount(id, 'USDC', chain))],
  );
  expect(rows).toEqual(users.map(({ id }) => ({ id, balance: id })));
}

async function begin(chain: ChainId): Promise<void> {
  const reader = world.reader(chain);
  await readUp(reader);
  await reader.release();
}

function settingsOf(chain: ChainId) {
  const settings = chains.local.settings.get(chain);
  if (settings === undefined) throw new Error(`${chain} is not running`);
  return settings;
}

test('what came while nobody looked is credited afterwards, in bounded steps', async () => {
  await begin('MATIC');
  const users = await world.newUsers(200);
  await depositUnseen('MATIC', users, 98);
  const { network, asked } = await startUnrulyRpc('MATIC', settingsOf('MATIC'));
  const reader = world.reader('MATIC', { network, mostBlocks: 250n });
  await readUp(reader);
  await expectCredited('MATIC', users);
  expect(asked.get('eth_getLogs')).toBe(8);
  const { rows } = await db.query<{ checkpoints: bigint }>(
    "SELECT count(*) AS checkpoints FROM chain_checkpoints WHERE chain = 'MATIC'",
  );
  expect(rows[0]?.checkpoints).toBe(9n);
  expect((await verifyLedger(db)).problems).toEqual([]);
});

test('a node that refuses wide ranges is asked for narrow ones', { tags: ['matrix'] }, async () => {
  await begin('ETH');
  const users = await world.newUsers(20);
  await world.keepOn('ETH', users);
  await depositUnseen('ETH', users, 198);
  const { network, asked, misbehave } = await startUnrulyRpc('ETH', settingsOf('ETH'));
  misbehave(({ method, params }) => {
    if (method !== 'eth_getLogs') return undefined;
    const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }];
    return Number(toBlock) - Number(fromBlock) < 30
      ? undefined
      : { error: { code: -32_602, message: 'block range is too wide' } };
  });
  world.log.clear();
  await readUp(world.reader('ETH', { network }));
  await expectCredited('ETH', users);
  expect(asked.get('eth_getLogs')).toBeLessThan(60);
  expect(world.log.lines('error')).toEqual([]);
});

test('a node that is away for a while is told of once, without its address, and loses nothing', async () => {
  await begin('ARB');
  const { network, misbehave } = await startUnrulyRpc('ARB', settingsOf('ARB'));
  const { ledger, log } = world;
  misbehave(() => 'down');
  log.clear();
  const watchers = startWatchers({ db, ledger, logger: log.logger, networks: new Map([['ARB', network]]) });
  try {
    await expect.poll(() => watchers.troubleOn('ARB')).toBeDefined();
    const user = await world.newUser();
    await world.keepOn('ARB', [user]);
    await chains.mint('ARB', 'USDC', user.address, 17n);
    misbehave(() => undefined);
    await expect.poll(() => world.balance(user, 'USDC', 'ARB')).toBe(17n);
    await expect.poll(() => watchers.troubleOn('ARB')).toBeUndefined();
    expect(log.lines('error')).toEqual([expect.objectContaining({ chain: 'ARB' })]);
    expect(JSON.stringify(log.lines('info'))).not.toContain('secret-path-key');
  } finally {
    await watchers.stop();
  }
});
