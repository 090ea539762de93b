import { type Hex, toHex } from 'viem';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { coinSweepSaga } from '../../../../src/custody/sweeps/coin-sweep-saga.ts';
import { addFloat } from '../../../../src/custody/treasury/add-float.ts';
import { freeGas } from '../../../../src/custody/treasury/gas-costs.ts';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { Ended } from '../../../../src/kernel/sagas/checkpoint.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { coins } from '../../../../src/money/catalogue.ts';
import { MarketUnreachable } from '../../../../src/money/market.ts';
import { tokenNames, useCoinWorld } from '../../../support/coins.ts';
import { endAt, type User } from '../../../support/deposits.ts';
import { oneOfMany } from '../../../support/matrix.ts';

const coinWorld = useCoinWorld();
const { world, chains, db, tricks, deposit, openSweep, openSweeps, advanceSweeps, sweep, read } = coinWorld;
const one = 10n ** 18n;

let user: User;
beforeEach(async () => {
  tricks.forget();
  world.log.clear();
  user = await world.newUser();
});

// Whatever was done, everything agrees in the end.
afterEach(async () => {
  await sweep();
  await coinWorld.expectAgreement();
});
afterAll(() => coinWorld.expectNothingDrifted());

const house = async (purpose: 'treasury' | 'gas') => (await houseWallet(db, purpose, 'MATIC')).address;
const native = (address: Hex) => chains.balanceOf('MATIC', 'MATIC', address);
const loansOf = async (address: Hex) =>
  (
    await db.query<{ loans: number }>('SELECT loans FROM coin_sweeps WHERE address = $1 ORDER BY id', [address])
  ).rows.map(({ loans }) => loans);
const sentBy = async (address: Hex) => chains.network('MATIC').client.getTransactionCount({ address });
const lentTo = async ({ id }: User) =>
  (
    await db.query<{ atomic: bigint }>(
      'SELECT g.atomic FROM lent_gas g JOIN wallets w ON w.id = g.wallet_id WHERE w.account_id = $1',
      [id],
    )
  ).rows[0]?.atomic ?? 0n;

test('whoever waits for a coin makes the richest wallets be swept, whatever they are worth, and no more than it takes', async () => {
  const worth = { market: { worth: async () => undefined }, gasCosts: freeGas, timesGas: 10n };
  const [poor, rich] = [await world.newUser(), await world.newUser()];
  await deposit(poor, 'DAI', 10n);
  await deposit(user, 'DAI', 500n);
  await deposit(rich, 'DAI', 1_000n);
  await openSweep({ worth });
  expect(await openSweeps()).toEqual([]);
  const { address: to } = await chains.outsider();
  const { id, net } = await coinWorld.withdraw(user, 'DAI', { gross: 500n, to });
  await coinWorld.advance(id);
  await openSweep({ worth });
  await openSweep({ worth });
  const { rows } = await db.query('SELECT address FROM coin_sweeps');
  expect(rows).toEqual([{ address: rich.address }]);
  await advanceSweeps();
  await coinWorld.goOn(id, 'complete', async () => {
    await advanceSweeps();
    await openSweep({ worth });
  });
  expect(await chains.balanceOf('MATIC', 'DAI', to)).toBe(net.atomic);
});

for (const coin of coins) {
  test(
    `${coin} is credited once and carried to the treasury, and everything agrees at every moment`,
    oneOfMany({ isRepresentative: coin === 'MATIC' }),
    async () => {
      const treasury = await house('treasury');
      const before = await chains.balanceOf('MATIC', tokenNames[coin], treasury);
      await deposit(user, coin, 2n * one + 3n);
      await coinWorld.expectAgreement();
      await sweep(coinWorld.expectAgreement);

      expect(await world.balance(user, coin)).toBe(2n * one + 3n);
      expect(await chains.balanceOf('MATIC', tokenNames[coin], treasury)).toBe(before + 2n * one + 3n);
      expect(await chains.balanceOf('MATIC', tokenNames[coin], user.address)).toBe(0n);
      const { rows } = await db.query('SELECT FROM deposits WHERE address = $1 AND swept_at IS NOT NULL', [
        user.address,
      ]);
      expect(rows).toHaveLength(1);
    },
  );
}

test('what is lent is in the books to the last unit, and what is left serves the next time', async () => {
  await deposit(user, 'DAI', one);
  await sweep();
  // The books know of each wallet what it still holds of the operator's, and so does the chain.
  expect(await lentTo(user)).toBe(await native(user.address));
  expect(await lentTo(user)).toBeGreaterThan(0n);
  const { rows } = await db.query<{ lent: bigint }>('SELECT sum(atomic) AS lent FROM lent_gas');
  expect(await coinWorld.ledgerOf('gas_lent', 'MATIC')).toBe(-(rows[0]?.lent ?? 0n));
  const held = (await native(await house('treasury'))) + (await native(await house('gas')));
  expect(await coinWorld.ledgerOf('gas_tank', 'MATIC')).toBe(-held);
  // Nobody can take for a float what is in the books already.
  const parts = { db, ledger: world.ledger, networks: new Map([['MATIC', chains.network('MATIC')] as const]) };
  await expect(addFloat(parts, { chain: 'MATIC', amount: amountOf('MATIC', 1n) })).rejects.toThrow('Only 0 MATIC');

  await deposit(user, 'ETH', one);
  await sweep();
  expect(await loansOf(user.address)).toEqual([1, 0]);
  expect(await lentTo(user)).toBe(await native(user.address));
});

test('two coins of one wallet go one after the other', async () => {
  await deposit(user, 'DAI', one);
  await deposit(user, 'MATIC', one);
  await openSweep();
  await openSweep();
  expect(await openSweeps()).toHaveLength(1);
  await sweep();
  expect(await sentBy(user.address)).toBe(2);
});

test('native coin that a stranger sent there is not what was lent', async () => {
  await chains.mint('MATIC', 'MATIC', user.address, one);
  await deposit(user, 'DAI', one);
  await sweep();
  expect(await loansOf(user.address)).toEqual([1]);
  expect(await native(user.address)).toBe((await lentTo(user)) + one);
});

describe('a process that is ended', () => {
  for (const place of coinSweepSaga.checkpoints) {
    test(
      `at ${place} lends once and moves once`,
      oneOfMany({ isRepresentative: place === 'coin_sweep.lent' }),
      async () => {
        const gas = await house('gas');
        const before = await sentBy(gas);
        await deposit(user, 'ETH', 5n);
        const checkpoint = endAt(place);
        const goOn = async () => {
          await openSweep({ checkpoint });
          for (let round = 0; round < 6; round++) {
            await advanceSweeps({ checkpoint });
            await read();
          }
        };
        await expect(goOn()).rejects.toBeInstanceOf(Ended);
        await sweep();
        expect((await sentBy(gas)) - before).toBe(1);
        expect(await sentBy(user.address)).toBe(1);
        expect(await lentTo(user)).toBe(await native(user.address));
      },
    );
  }
});

describe('a wallet provider', () => {
  for (const how of ['loses_the_answer', 'does_not_hear', 'is_asked_twice'] as const) {
    test(
      `that ${how} lends once and moves once`,
      oneOfMany({ isRepresentative: how === 'loses_the_answer' }),
      async () => {
        const gas = await house('gas');
        const before = await sentBy(gas);
        tricks.play('lend', how);
        tricks.play('move', how);
        await deposit(user, 'DAI', 7n);
        await sweep();
        expect((await sentBy(gas)) - before).toBe(1);
        expect(await sentBy(user.address)).toBe(1);
      },
    );
  }

  test('that refuses to move it leaves it for the next sweep', async () => {
    tricks.play('move', 'refuses');
    await deposit(user, 'DAI', 7n);
    await sweep();
    const { rows } = await db.query('SELECT status FROM coin_sweeps WHERE address = $1 ORDER BY id', [user.address]);
    expect(rows).toEqual([{ status: 'failed' }, { status: 'complete' }]);
    // What was lent for the one serves the other.
    expect(await loansOf(user.address)).toEqual([1, 0]);
  });
});

test('when gas has become dearer meanwhile, more is lent', async () => {
  await deposit(user, 'DAI', one);
  await openSweep();
  await advanceSweeps();
  await read();
  const { baseFeePerGas } = await chains.network('MATIC').client.getBlock();
  await chains.rpc('MATIC', 'hardhat_setNextBlockBaseFeePerGas', [toHex((baseFeePerGas ?? 1n) * 40n)]);
  await chains.mine('MATIC');
  await sweep();
  expect(await loansOf(user.address)).toEqual([2]);
  expect(await lentTo(user)).toBe(await native(user.address));
});

describe('what a sweep must be worth', () => {
  test('is what ten times its gas is worth at the market', async () => {
    await deposit(user, 'DAI', 1_000n);
    const asked: unknown[] = [];
    const market = (atomic: bigint) => ({
      worth: async (wanted: unknown) => {
        asked.push(wanted);
        return atomic;
      },
    });
    await openSweep({ worth: { market: market(1_001n), gasCosts: freeGas, timesGas: 10n } });
    expect(await openSweeps()).toEqual([]);
    expect(asked).toContainEqual(expect.objectContaining({ from: 'MATIC', to: 'DAI' }));
    await openSweep({ worth: { market: market(1_000n), gasCosts: freeGas, timesGas: 10n } });
    expect(await openSweeps()).toHaveLength(1);
  });

  test('cannot be told while the market is silent', async () => {
    await deposit(user, 'DAI', one);
    const market = {
      worth: async () => {
        throw new MarketUnreachable('silent');
      },
    };
    await openSweep({ worth: { market, gasCosts: freeGas, timesGas: 10n } });
    expect(await openSweeps()).toEqual([]);
  });
});
