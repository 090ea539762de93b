import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { features } from '../../../../src/app/features.ts';
import { eventsOf } from '../../../../src/app/listed-feature.ts';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { setSubscriptions, takeEvents } from '../../../../src/ledger/events.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { type ChainId, chains as facts } from '../../../../src/money/catalogue.ts';
import { askTerms } from '../../../../src/payments/bridge/ask-protocol.ts';
import { keepHere, listCrossChainWallets } from '../../../../src/payments/bridge/cross-chain-wallets.ts';
import { openBridge } from '../../../../src/payments/bridge/open-bridge.ts';
import { creditWithin } from '../../../../src/payments/deposits/credit-deposits.ts';
import { listTransfers } from '../../../../src/payments/transfers/list-transfers.ts';
import { openWithdrawal } from '../../../../src/payments/withdrawals/open-withdrawal.ts';
import { buildBody } from '../../../../src/webhooks/payload.ts';
import { type Carrier, carrierOf } from '../../../support/carry-home.ts';
import { useProtocol } from '../../../support/cctp.ts';
import { type User, useDepositWorld } from '../../../support/deposits.ts';
import { isMatrix } from '../../../support/matrix.ts';
import { until } from '../../../support/until.ts';

const world = useDepositWorld();
const { chains, database } = world;
const { db } = database;
const protocol = useProtocol(chains);

let carrier: Carrier;
beforeAll(async () => {
  carrier = await carrierOf(world, ['MATIC', 'ARB', 'BASE']);
  await protocol.attestationsBehave({ unseenMs: 0, pendingMs: 0 });
});

const waits = { status: 'waiting', carriedBy: null };
const home = { status: 'carried_home', carriedBy: expect.stringMatching(/^brg_/) };

async function bridgesOf({ id }: User): Promise<{ id: string; amount: bigint; status: string }[]> {
  const { rows } = await db.query<{ id: string; amount: bigint; status: string }>(
    "SELECT id, amount, status FROM bridges WHERE account_id = $1 AND origin = 'deposit' ORDER BY id",
    [id],
  );
  return rows;
}

async function history({ id }: User): Promise<string[]> {
  const { transfers } = await listTransfers(db, { accountId: id, limit: 20, cursor: undefined });
  return transfers.map(({ type, direction, amount }) => `${direction} ${amount} ${type}`);
}

/** What a request would come to that takes USDC from somebody's balance on a chain. */
async function askToTake(how: 'withdraw' | 'bridge', chain: ChainId, { id: accountId }: User, atomic: bigint) {
  const [amount, gasFee] = [amountOf('USDC', atomic), amountOf('USDC', 0n)];
  const refused = new Error('nothing of this is kept');
  let answer: string | undefined;
  await db
    .transaction(async (tx) => {
      const { outcome } =
        how === 'bridge'
          ? await openBridge(tx, world.ledger, {
              accountId,
              from: chain,
              to: 'MATIC',
              amount,
              gasFee,
              origin: 'request',
            })
          : await openWithdrawal(tx, world.ledger, {
              accountId,
              chain,
              address: `0x${'ab'.repeat(20)}`,
              gross: amount,
              fee: amountOf('USDC', 0n),
            });
      answer = outcome.outcome;
      throw refused;
    })
    .catch((error: unknown) => {
      if (error !== refused) throw error;
    });
  return answer;
}

describe('what is not worth the gas', () => {
  test('waits: listed, owed, and for nobody to take', async () => {
    const user = await world.newUser();
    await carrier.deposit('ARB', user, 600_000n);
    await carrier.carry('ARB', { minimum: 1_000_000n });
    expect(await carrier.listed(user)).toEqual([{ chain: 'ARB', amount: '0.6', ...waits }]);
    expect(await carrier.wallet('ARB', user)).toEqual({ keeps: false, usdc: '0', eurc: null, waiting: '0.6' });
    expect(await bridgesOf(user)).toEqual([]);
    expect(await world.balance(user, 'USDC', 'ARB')).toBe(0n);
    expect(await world.balance(user)).toBe(0n);
    expect(await askToTake('withdraw', 'ARB', user, 1n)).toBe('insufficient_balance');
    expect(await askToTake('bridge', 'ARB', user, 1n)).toBe('insufficient_balance');
    expect(await carrier.claims(user)).toEqual(['0.6 USDC on ARB']);
    await carrier.expectWhole();
  });

  test('goes with what comes later, in one bridge', async () => {
    const user = await world.newUser();
    for (const atomic of [400_000n, 599_999n]) await carrier.deposit('ARB', user, atomic);
    await carrier.carry('ARB', { minimum: 1_000_000n });
    expect(await bridgesOf(user)).toEqual([]);
    await carrier.deposit('ARB', user, 1n);
    await carrier.carry('ARB', { minimum: 1_000_000n });
    expect(await bridgesOf(user)).toMatchObject([{ amount: 1_000_000n, status: 'pending' }]);
    expect((await carrier.listed(user)).map(({ status }) => status)).toEqual(Array(3).fill('on_its_way'));
    expect(await carrier.claims(user)).toEqual([]);
    await carrier.expectWhole();
    await carrier.settle();
    expect(await carrier.listed(user)).toMatchObject([home, home, home]);
    expect(new Set((await carrier.listed(user)).map(({ carriedBy }) => carriedBy)).size).toBe(1);
    expect(await world.balance(user)).toBe(1_000_000n);
    expect(await history(user)).toEqual(['received 1 deposit_carried_home']);
    await carrier.expectWhole();
  });

  test('is counted for each chain by itself', async () => {
    const user = await world.newUser();
    await carrier.deposit('ARB', user, 600_000n);
    await carrier.deposit('BASE', user, 600_000n);
    for (const chain of ['ARB', 'BASE'] as const) await carrier.carry(chain, { minimum: 1_000_000n });
    expect(await bridgesOf(user)).toEqual([]);
    expect(await carrier.claims(user)).toEqual(['0.6 USDC on ARB', '0.6 USDC on BASE']);
  });
});

describe('whoever makes a wallet there', () => {
  test('keeps what waits, and what comes after it', async () => {
    const user = await world.newUser();
    await carrier.deposit('BASE', user, 700_000n);
    await carrier.keep('BASE', user);
    await carrier.deposit('BASE', user, 5_000_000n);
    await carrier.carry('BASE');
    expect(await bridgesOf(user)).toEqual([]);
    expect(await carrier.listed(user)).toMatchObject([{ status: 'credited' }, { status: 'credited' }]);
    expect(await carrier.wallet('BASE', user)).toEqual({ keeps: true, usdc: '5.7', eurc: '0', waiting: '0' });
    expect(await askToTake('withdraw', 'BASE', user, 5_700_000n)).toBe('posted');
    await carrier.keep('BASE', user);
    expect(await world.balance(user, 'USDC', 'BASE')).toBe(5_700_000n);
    await carrier.expectWhole();
  });

  test('sees what is there also when the operator has switched the chain off', async () => {
    const user = await world.newUser();
    await carrier.keep('BASE', user);
    await carrier.keep('ARB', user);
    await carrier.deposit('BASE', user, 5_000_000n);
    await carrier.deposit('BASE', user, 2_000_000n, 'EURC');
    const networks = new Map([['MATIC' as const, chains.network('MATIC')]]);
    const listed = await listCrossChainWallets({ db, provider: world.provider, networks }, user.id);
    expect(listed.map(({ wallet }) => wallet.chain)).toEqual(['MATIC', 'BASE']);
    expect(listed[1]).toMatchObject({ usdc: amountOf('USDC', 5_000_000n), eurc: amountOf('EURC', 2_000_000n) });
  });

  test('keeps it also by a bridge to there', { tags: ['matrix'] }, async () => {
    const user = await world.newUser();
    await carrier.deposit('MATIC', user, 2_000_000n);
    await carrier.deposit('BASE', user, 700_000n);
    await db.transaction(async (tx) => {
      const { outcome } = await openBridge(tx, world.ledger, {
        accountId: user.id,
        from: 'MATIC',
        to: 'BASE',
        amount: amountOf('USDC', 2_000_000n),
        gasFee: amountOf('USDC', 0n),
        origin: 'request',
        before: await keepHere(tx, user.id, 'BASE'),
      });
      expect(outcome.outcome).toBe('posted');
    });
    expect(await world.balance(user, 'USDC', 'BASE')).toBe(700_000n);
    await carrier.carry('BASE');
    await carrier.settle();
    expect(await carrier.wallet('BASE', user)).toEqual({ keeps: true, usdc: '2.7', eurc: '0', waiting: '0' });
    expect(await world.balance(user)).toBe(0n);
  });

  test('does not stop what is on its way', { tags: ['matrix'] }, async () => {
    const user = await world.newUser();
    await carrier.deposit('BASE', user, 3_000_000n);
    await carrier.carry('BASE');
    await carrier.keep('BASE', user);
    await carrier.deposit('BASE', user, 10n);
    await carrier.carry('BASE');
    await carrier.settle();
    expect(await world.balance(user)).toBe(3_000_000n);
    expect(await carrier.listed(user)).toMatchObject([home, { amount: '0.00001', status: 'credited' }]);
    expect(await carrier.wallet('BASE', user)).toMatchObject({ usdc: '0.00001', waiting: '0' });
    await carrier.expectWhole();
  });

  test('keeps what fails on its way afterwards, also while the account is frozen', { tags: ['matrix'] }, async () => {
    const user = await world.newUser();
    await carrier.deposit('BASE', user, 3_000_000n);
    await carrier.carry('BASE');
    await carrier.keep('BASE', user);
    await db.query('UPDATE accounts SET frozen_at = now() WHERE id = $1', [user.id]);
    await refuseBurns('BASE', () => carrier.settle());
    expect(await bridgesOf(user)).toMatchObject([{ status: 'failed' }]);
    expect(await carrier.wallet('BASE', user)).toMatchObject({ usdc: '3', waiting: '0' });
    expect(await carrier.listed(user)).toMatchObject([{ status: 'credited', carriedBy: null }]);
    await carrier.expectWhole();
  });

  test('keeps what is credited in the same moment', { tags: ['matrix'] }, async () => {
    const user = await world.newUser();
    let keeping: Promise<void> | undefined;
    const txHash = await chains.mint('BASE', 'USDC', user.address, 123n);
    const receipt = await chains.network('BASE').client.getTransactionReceipt({ hash: txHash });
    await db.transaction(async (tx) => {
      await creditWithin(tx, { ledger: world.ledger, logger: world.log.logger }, 'BASE', [
        {
          txHash,
          position: receipt.logs.length - 1,
          blockNumber: receipt.blockNumber,
          accountId: user.id,
          recipient: user.address,
          sender: `0x${'00'.repeat(20)}`,
          asset: 'USDC',
          atomic: 123n,
          proofs: [],
        },
      ]);
      let kept = false;
      keeping = carrier.keep('BASE', user).then(() => {
        kept = true;
      });
      await until('it to be kept, or to wait for this commit', async () => {
        const { rows } = await db.query(
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        return kept || rows.length > 0;
      });
    });
    await keeping;
    expect(await carrier.wallet('BASE', user)).toMatchObject({ keeps: true, usdc: '0.000123', waiting: '0' });
    await carrier.advance();
    await carrier.expectWhole();
  });
});

test('two processes that carry at once begin one bridge', { tags: ['matrix'] }, async () => {
  const users = await world.newUsers(5);
  for (const user of users) await carrier.deposit('ARB', user, 2_000_000n);
  await Promise.all(Array.from({ length: 4 }, () => carrier.carry('ARB')));
  for (const user of users) expect(await bridgesOf(user)).toHaveLength(1);
  await carrier.settle();
  for (const user of users) expect(await world.balance(user)).toBe(2_000_000n);
  await carrier.expectWhole();
});

/** As long as this runs, the protocol takes nothing from the wallet that burns there. */
async function refuseBurns(chain: ChainId, act: () => Promise<void>): Promise<void> {
  const { address } = await houseWallet(db, 'bridge', chain);
  await protocol.operate(chain, 'tokenMessenger', 'denylist', [address]);
  await act();
  await protocol.operate(chain, 'tokenMessenger', 'unDenylist', [address]);
}

test('what cannot be burnt waits again, and is tried again later', { tags: ['matrix'] }, async () => {
  const user = await world.newUser();
  await db.transaction((tx) => setSubscriptions(tx, user.id, ['bridge.failed']));
  await carrier.deposit('ARB', user, 4_000_000n);
  await carrier.carry('ARB');
  await refuseBurns('ARB', () => carrier.settle());
  const [failed] = await bridgesOf(user);
  expect(failed).toMatchObject({ status: 'failed' });
  expect(await carrier.listed(user)).toEqual([{ chain: 'ARB', amount: '4', ...waits }]);
  expect(await carrier.wallet('ARB', user)).toEqual({ keeps: false, usdc: '0', eurc: null, waiting: '4' });
  expect(await carrier.claims(user)).toEqual(['4 USDC on ARB']);
  expect(await history(user)).toEqual([]);
  expect(await told(user)).toMatchObject([
    ['bridge.failed', { bridgeId: failed?.id, amount: 4, fromChain: 'ARB', toChain: 'MATIC' }],
  ]);
  await carrier.expectWhole();

  // Not at once, also not with what comes in the meantime.
  await carrier.carry('ARB');
  await carrier.deposit('ARB', user, 1_000_000n);
  await carrier.carry('ARB');
  expect(await bridgesOf(user)).toMatchObject([{ status: 'failed' }, { amount: 1_000_000n, status: 'pending' }]);
  await carrier.settle();
  await db.query("UPDATE deposits SET carry_after = carry_after - interval '61 minutes' WHERE account_id = $1", [
    user.id,
  ]);
  await carrier.carry('ARB');
  await carrier.settle();
  expect((await bridgesOf(user)).map(({ status }) => status)).toEqual(['failed', 'completed', 'completed']);
  expect(await carrier.listed(user)).toMatchObject([home, home]);
  expect(await history(user)).toEqual(['received 4 deposit_carried_home', 'received 1 deposit_carried_home']);
  await carrier.expectWhole();
});

test('the deposit of a frozen account waits, and holds up nobody else', { tags: ['matrix'] }, async () => {
  const [frozen, free] = (await world.newUsers(2)) as [User, User];
  for (const user of [frozen, free]) await carrier.deposit('ARB', user, 2_000_000n);
  await db.query('UPDATE accounts SET frozen_at = now() WHERE id = $1', [frozen.id]);
  await carrier.carry('ARB');
  await carrier.settle();
  expect(await carrier.listed(frozen)).toMatchObject([waits]);
  expect(await world.balance(free)).toBe(2_000_000n);
  await db.query('UPDATE accounts SET frozen_at = NULL WHERE id = $1', [frozen.id]);
  await carrier.carry('ARB');
  // Whoever is frozen now can still receive.
  await db.query('UPDATE accounts SET frozen_at = now() WHERE id = $1', [frozen.id]);
  await carrier.settle();
  expect(await world.balance(frozen)).toBe(2_000_000n);
  await carrier.expectWhole();
});

test('more than one message carries goes in several; a single deposit of more waits until its owner keeps it', {
  tags: ['matrix'],
}, async () => {
  const [rich, other] = (await world.newUsers(2)) as [User, User];
  const limit = (atomic: bigint) =>
    protocol.operate('ARB', 'tokenMinter', 'setMaxBurnAmountPerMessage', [facts.ARB.tokens.USDC, atomic]);
  const { burnLimit } = await askTerms(chains.network('ARB'), amountOf('USDC', 1n));
  await limit(5_000_000n);
  for (const atomic of [3_000_000n, 6_000_000n, 3_000_000n]) await carrier.deposit('ARB', rich, atomic);
  for (let round = 0; round < 3; round++) await carrier.carry('ARB');
  expect(await bridgesOf(rich)).toMatchObject([{ amount: 3_000_000n }, { amount: 3_000_000n }]);
  // The fee on what the one has would be more than all that the other has.
  await protocol.operate('ARB', 'tokenMessenger', 'setMinFee', [2_000n]);
  await carrier.deposit('ARB', other, 1_000n);
  // Whoever cannot go now keeps nobody behind from going.
  await carrier.carry('ARB', { pageSize: 1 });
  expect(await bridgesOf(other)).toMatchObject([{ amount: 1_000n }]);
  await carrier.settle();
  await protocol.operate('ARB', 'tokenMessenger', 'setMinFee', [0n]);
  expect(await world.balance(other)).toBe(999n);
  expect(await world.balance(rich)).toBe(5_998_800n);
  expect(await carrier.listed(rich)).toMatchObject([home, { amount: '6', ...waits }, home]);
  await carrier.keep('ARB', rich);
  expect(await carrier.wallet('ARB', rich)).toMatchObject({ usdc: '6', waiting: '0' });
  await limit(burnLimit);
  await carrier.expectWhole();
});

test('EURC is not bridged: it is at hand where it came', async () => {
  const user = await world.newUser();
  await carrier.deposit('BASE', user, 3_000_000n, 'EURC');
  await carrier.carry('BASE');
  expect(await bridgesOf(user)).toEqual([]);
  expect(await carrier.listed(user)).toEqual([{ chain: 'BASE', amount: '3', status: 'credited', carriedBy: null }]);
  expect(await carrier.wallet('BASE', user)).toEqual({ keeps: false, usdc: '0', eurc: '3', waiting: '0' });
  expect(await world.balance(user, 'EURC', 'BASE')).toBe(3_000_000n);
  await carrier.expectWhole();
});

test('what comes to a retired wallet is carried home too', { tags: ['matrix'] }, async () => {
  const user = await world.newUser();
  await db.query('UPDATE wallets SET retired_at = now() WHERE account_id = $1', [user.id]);
  await carrier.deposit('ARB', user, 2_500_000n);
  await carrier.carry('ARB');
  await carrier.settle();
  expect(await world.balance(user)).toBe(2_500_000n);
  await carrier.expectWhole();
});

/** What webhooks were told of somebody since the last time. */
async function told({ id }: User): Promise<[string, unknown][]> {
  const events = await db.transaction((tx) => takeEvents(tx, { most: 100, feeds: true }));
  const types = eventsOf(features);
  return events
    .filter(({ accountId }) => accountId === id)
    .map((event) => [event.type, JSON.parse(buildBody(event, types, () => undefined)).data]);
}

test('its owner is told when it comes, where it is carried, and when it is there', async () => {
  const user = await world.newUser();
  await db.transaction((tx) => setSubscriptions(tx, user.id, ['deposit.received', 'bridge.completed']));
  await carrier.deposit('ARB', user, 2_000_000n);
  const [deposit] = (await db.query<{ id: string }>('SELECT id FROM deposits WHERE account_id = $1', [user.id])).rows;
  expect(await told(user)).toMatchObject([
    ['deposit.received', { depositId: deposit?.id, amount: 2, chain: 'ARB', carriedTo: 'MATIC' }],
  ]);
  await carrier.carry('ARB');
  expect(await told(user)).toEqual([]);
  await carrier.settle();
  const [bridge] = await bridgesOf(user);
  expect(await told(user)).toMatchObject([
    [
      'bridge.completed',
      { bridgeId: bridge?.id, amount: 2, received: 2, currency: 'USDC', fromChain: 'ARB', toChain: 'MATIC' },
    ],
  ]);
  // Where it stays, nobody is told of any way home.
  await carrier.keep('BASE', user);
  await carrier.deposit('BASE', user, 1n);
  const [[, stayed] = []] = await told(user);
  expect(stayed).toMatchObject({ chain: 'BASE' });
  expect(stayed).not.toHaveProperty('carriedTo');
});

test('whatever comes in whatever order, everything is somewhere', { tags: ['longer'] }, async () => {
  const chain = fc.constantFrom<ChainId>('ARB', 'BASE');
  const who = fc.nat({ max: 1 });
  const act = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('deposit' as const),
        chain,
        who,
        atomic: fc.integer({ min: 1, max: 900 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('keep' as const), chain, who }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('carry' as const), chain }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('advance' as const) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 4, maxLength: 12 }), async (acts) => {
      const users = await world.newUsers(2);
      const sent = [0n, 0n];
      for (const step of acts) {
        if (step.do === 'deposit') {
          await carrier.deposit(step.chain, users[step.who] as User, BigInt(step.atomic));
          sent[step.who] = (sent[step.who] ?? 0n) + BigInt(step.atomic);
        } else if (step.do === 'keep') await carrier.keep(step.chain, users[step.who] as User);
        else if (step.do === 'carry') await carrier.carry(step.chain, { minimum: 500n });
        else await carrier.advance();
      }
      await carrier.settle();
      for (const [index, user] of users.entries()) {
        const { rows } = await db.query<{ sum: bigint }>(
          'SELECT coalesce(sum(balance), 0) AS sum FROM ledger.accounts WHERE id >> 14 = $1',
          [user.id],
        );
        expect(rows[0]?.sum ?? 0n).toBe(sent[index]);
      }
      await carrier.expectWhole();
    }),
    { numRuns: isMatrix ? 3 : 1, seed: 10 },
  );
});
