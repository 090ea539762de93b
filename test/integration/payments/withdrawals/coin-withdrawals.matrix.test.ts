import { Command } from 'commander';
import { type Hex, toHex } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { uniswap } from '../../../../src/chains/abi.ts';
import { readSentWithinHour } from '../../../../src/custody/limits/hourly-limit.ts';
import { reconcile } from '../../../../src/custody/reserves/reconcile.ts';
import { listSteps } from '../../../../src/custody/steps/chain-step.ts';
import { addFloat } from '../../../../src/custody/treasury/add-float.ts';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { Ended } from '../../../../src/kernel/sagas/checkpoint.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { coins } from '../../../../src/money/catalogue.ts';
import { addWithdrawalCommands } from '../../../../src/payments/withdrawals/commands.ts';
import { withdrawalSaga } from '../../../../src/payments/withdrawals/saga.ts';
import { coinValue, tokenNames, useCoinWorld } from '../../../support/coins.ts';
import { endAt, type User } from '../../../support/deposits.ts';
import { oneOfMany } from '../../../support/matrix.ts';

const coinWorld = useCoinWorld();
const { world, chains, db, tricks, flagged, deposit, sweep, withdraw, goOn, look, expectAgreement } = coinWorld;

/** Nothing about it is round. */
const whole = 3_141_592_653_589_793_238n;

/** Code that takes nothing, code that comes to no end, and code that writes so many slots that it costs more than it may. */
const refuses: Hex = '0x60006000fd';
const endless: Hex = '0x5b600056';
const wastes: Hex = `0x${Array.from({ length: 10 }, (_, slot) => `600160${slot.toString(16).padStart(2, '0')}55`).join('')}`;

let user: User;
let to: Hex;
beforeAll(async () => {
  // Whoever else has coins here.
  const other = await world.newUser();
  for (const coin of coins) await deposit(other, coin, 10n ** 18n);
  await sweep();
});
beforeEach(async () => {
  tricks.forget();
  user = await world.newUser();
  to = privateKeyToAddress(generatePrivateKey());
});

// Whatever was done, everything agrees in the end, and nothing is left unwrapped.
afterEach(async () => {
  await expectAgreement();
  expect(await coinWorld.ledgerOf('unwrapped_in_transit', 'MATIC')).toBe(0n);
  const treasury = await houseWallet(db, 'treasury', 'MATIC');
  const gas = await houseWallet(db, 'gas', 'MATIC');
  const held = (await native(treasury.address)) + (await native(gas.address));
  expect(await coinWorld.ledgerOf('gas_tank', 'MATIC')).toBe(-held);
});

afterAll(() => coinWorld.expectNothingDrifted());

const native = (address: Hex) => chains.balanceOf('MATIC', 'MATIC', address);
const setCode = (address: Hex, code: Hex) => chains.rpc('MATIC', 'hardhat_setCode', [address, code]);

/** All that somebody has of MATIC, on its way out as far as it is unwrapped. */
async function unwrapped() {
  await deposit(user, 'MATIC', whole);
  await sweep();
  const withdrawal = await withdraw(user, 'MATIC', { gross: whole, to });
  for (let round = 0; round < 20; round++) {
    const { status } = await look(withdrawal.id);
    if (status === 'unwrapped') return withdrawal;
    await coinWorld.step(withdrawal.id);
    await coinWorld.read();
  }
  throw new Error('it is not unwrapped');
}

async function expectRefunded(id: string, reason: string): Promise<void> {
  expect(await look(id)).toMatchObject({ status: 'failed', error: expect.stringContaining(reason) });
  expect(await world.balance(user, 'MATIC')).toBe(whole);
  expect(await native(to)).toBe(0n);
}

for (const coin of coins) {
  test(
    `a whole balance of ${coin} leaves to the last unit, and everything agrees at every moment`,
    oneOfMany({ isRepresentative: coin === 'MATIC' }),
    async () => {
      await deposit(user, coin, whole);
      const { id, fee, net } = await withdraw(user, coin, { gross: whole, to });
      // 1.49 %, half of the last unit rounded up.
      expect(fee.atomic).toBe((whole * 149n + 5_000n) / 10_000n);
      const earned = await coinWorld.ledgerOf('fees', coin);
      // It has come to a wallet of theirs and must be fetched first.
      await coinWorld.advance(id);
      await sweep(expectAgreement);
      await goOn(id, 'complete', expectAgreement);
      expect(await world.balance(user, coin)).toBe(0n);
      expect(await chains.balanceOf('MATIC', coin, to)).toBe(net.atomic);
      if (coin === 'MATIC') expect(await chains.balanceOf('MATIC', tokenNames[coin], to)).toBe(0n);
      expect((await coinWorld.ledgerOf('fees', coin)) - earned).toBe(fee.atomic);
    },
  );
}

test('unwrapped coin that is missing from the wallet is named', { tags: ['matrix'] }, async () => {
  const { id, net } = await unwrapped();
  const networks = new Map([['MATIC', chains.network('MATIC')] as const]);
  const findings = () => reconcile({ db, networks, sagas: [] });
  expect(await findings()).toEqual([]);
  const { address } = await houseWallet(db, 'treasury', 'MATIC');
  const held = await native(address);
  const setBalance = async (atomic: bigint) => {
    await chains.rpc('MATIC', 'hardhat_setBalance', [address, toHex(atomic)]);
    await chains.mine('MATIC');
    await coinWorld.read();
  };
  await setBalance(net.atomic);
  expect(await findings()).toEqual([]);
  await setBalance(net.atomic - 1n);
  expect(await findings()).toEqual([
    expect.stringMatching(new RegExp(`house wallet ${address.toLowerCase()} holds .* was unwrapped there for users`)),
  ]);
  await setBalance(held);
  await goOn(id, 'complete');
});

test('a transaction that pays something else in native coin is named', async () => {
  await deposit(user, 'MATIC', whole);
  await sweep();
  const { id } = await withdraw(user, 'MATIC', { gross: whole, to });
  await goOn(id, 'complete');
  const networks = new Map([['MATIC', chains.network('MATIC')] as const]);
  const findings = () => reconcile({ db, networks, sagas: [] });
  expect(await findings()).toEqual([]);
  // Another transaction, as if somebody had written it down for this one.
  const { rows } = await db.query<{ hash: string }>(
    "SELECT hash FROM chain_steps WHERE saga_id = $1 AND step = 'unwrap'",
    [id],
  );
  const write = (hash: string | undefined) =>
    db.transaction(async (tx) => {
      await tx.query('ALTER TABLE chain_steps DISABLE TRIGGER chain_steps_guard');
      await tx.query("UPDATE chain_steps SET hash = $2 WHERE saga_id = $1 AND step = 'pay'", [id, hash]);
      await tx.query('ALTER TABLE chain_steps ENABLE TRIGGER chain_steps_guard');
    });
  const { txHash } = await look(id);
  await write(rows[0]?.hash);
  expect(await findings()).toContainEqual(expect.stringContaining(`withdrawal ${id} of`));
  await write(txHash ?? undefined);
});

test('native coin that is unwrapped and then paid has one place in the hour', async () => {
  await deposit(user, 'MATIC', whole);
  await sweep();
  const { id } = await withdraw(user, 'MATIC', { gross: whole, to });
  const perHour = (await readSentWithinHour(db)) + coinValue;
  for (let round = 0; round < 20 && (await look(id)).finishedAt === null; round++) {
    await coinWorld.advance(id, { perHour });
    await coinWorld.read();
  }
  expect((await look(id)).status).toBe('complete');
  expect(await readSentWithinHour(db)).toBe(perHour);
});

test('native coin that a release has unwrapped which counted no hours is not held by the hour', {
  tags: ['matrix'],
}, async () => {
  const { id, net } = await unwrapped();
  await db.query('UPDATE withdrawals SET let_go_at = NULL WHERE id = $1', [id]);
  await coinWorld.advance(id, { perHour: 1n });
  expect((await look(id)).heldBy).toBeNull();
  await goOn(id, 'complete', expectAgreement);
  expect(await native(to)).toBe(net.atomic);
});

describe('a recipient', () => {
  test('that takes no native coin is not unwrapped for', async () => {
    await deposit(user, 'MATIC', whole);
    await sweep();
    await setCode(to, refuses);
    const { id } = await withdraw(user, 'MATIC', { gross: whole, to });
    await goOn(id, 'failed', expectAgreement);
    await expectRefunded(id, 'takes no native coin');
    const { rows } = await db.query('SELECT FROM chain_steps WHERE saga_id = $1', [id]);
    expect(rows).toEqual([]);
  });

  for (const [what, code] of [
    ['would use up our gas', wastes],
    ['comes to no end', endless],
  ] as const) {
    test(`that ${what} is not paid`, oneOfMany({ isRepresentative: code === endless }), async () => {
      await deposit(user, 'MATIC', whole);
      await sweep();
      await setCode(to, code);
      const { id } = await withdraw(user, 'MATIC', { gross: whole, to });
      await goOn(id, 'failed', expectAgreement);
      await expectRefunded(id, 'takes too much gas');
    });
  }

  for (const [what, code, reason] of [
    ['takes it no more', refuses, 'takes no native coin'],
    ['has come to use up our gas', wastes, 'takes too much gas'],
  ] as const) {
    test(
      `that ${what} when it is unwrapped makes it be wrapped and given back in full`,
      oneOfMany({ isRepresentative: code === wastes }),
      async () => {
        const { id } = await unwrapped();
        await setCode(to, code);
        await goOn(id, 'failed', expectAgreement);
        await expectRefunded(id, reason);
        expect((await listSteps(db, id)).map(({ step }) => step)).toEqual(['unwrap', 'wrap']);
      },
    );
  }

  test('that takes it no more when it was looked at makes it be wrapped and given back in full', {
    tags: ['matrix'],
  }, async () => {
    const { id } = await unwrapped();
    await coinWorld.step(id);
    await setCode(to, refuses);
    await goOn(id, 'failed', expectAgreement);
    await expectRefunded(id, 'The contract reverts');
  });
});

test('what somebody has left in the router comes along as surplus', { tags: ['matrix'] }, async () => {
  const { id } = await unwrapped();
  await setCode(to, refuses);
  await chains.mint('MATIC', 'WMATIC', uniswap.router, 77n);
  const before = await coinWorld.ledgerOf('surplus', 'MATIC');
  await goOn(id, 'failed', expectAgreement);
  await expectRefunded(id, 'takes no native coin');
  expect((await coinWorld.ledgerOf('surplus', 'MATIC')) - before).toBe(77n);
});

test('a payment that is undone on the chain is given back in full', async () => {
  const { id, net } = await unwrapped();
  // Nothing is mined until the recipient has changed its mind.
  await chains.rpc('MATIC', 'evm_setAutomine', [false]);
  await coinWorld.advance(id);
  await setCode(to, refuses);
  await chains.rpc('MATIC', 'evm_setAutomine', [true]);
  await chains.mine('MATIC');
  await goOn(id, 'failed', expectAgreement);
  await expectRefunded(id, 'The contract reverted the transaction');
  expect(net.atomic).toBeGreaterThan(0n);
});

describe('a wallet provider', () => {
  for (const how of ['loses_the_answer', 'does_not_hear', 'is_asked_twice'] as const) {
    test(`that ${how} pays once`, oneOfMany({ isRepresentative: how === 'loses_the_answer' }), async () => {
      await deposit(user, 'MATIC', whole);
      await sweep();
      tricks.play('unwrap', how);
      tricks.play('pay', how);
      const { id, net } = await withdraw(user, 'MATIC', { gross: whole, to });
      await goOn(id, 'complete', expectAgreement);
      expect(await native(to)).toBe(net.atomic);
    });
  }

  test('that refuses to unwrap gives everything back', async () => {
    await deposit(user, 'MATIC', whole);
    await sweep();
    tricks.play('unwrap', 'refuses');
    const { id } = await withdraw(user, 'MATIC', { gross: whole, to });
    await goOn(id, 'failed', expectAgreement);
    await expectRefunded(id, 'not allowed');
  });

  for (const how of ['loses_the_answer', 'does_not_hear', 'is_asked_twice'] as const) {
    test(
      `that refuses to pay, and then ${how}, gives everything back once`,
      oneOfMany({ isRepresentative: how === 'is_asked_twice' }),
      async () => {
        const { id } = await unwrapped();
        tricks.play('pay', 'refuses');
        tricks.play('wrap', how);
        await goOn(id, 'failed', expectAgreement);
        await expectRefunded(id, 'not allowed');
      },
    );
  }

  test('that refuses to wrap as well is asked for it anew', { tags: ['matrix'] }, async () => {
    const { id } = await unwrapped();
    tricks.play('pay', 'refuses');
    tricks.play('wrap', 'refuses');
    await goOn(id, 'failed', expectAgreement);
    await expectRefunded(id, 'not allowed');
    const { rows } = await db.query(
      "SELECT step, state FROM chain_steps WHERE saga_id = $1 AND step LIKE 'wrap%' ORDER BY step",
      [id],
    );
    expect(rows).toEqual([
      { step: 'wrap', state: 'failed' },
      { step: 'wrap_2', state: 'confirmed' },
    ]);
  });
});

describe('a process that is ended', () => {
  const places = withdrawalSaga.otherRehearsals?.[0]?.checkpoints ?? [];
  for (const place of places) {
    test(`at ${place} pays once`, oneOfMany({ isRepresentative: place === 'withdrawal.unwrapped' }), async () => {
      await deposit(user, 'MATIC', whole);
      await sweep();
      const { id, net } = await withdraw(user, 'MATIC', { gross: whole, to });
      const checkpoint = endAt(place);
      const run = async () => {
        for (let round = 0; round < 8; round++) {
          await coinWorld.advance(id, { checkpoint });
          await coinWorld.read();
        }
      };
      await expect(run()).rejects.toBeInstanceOf(Ended);
      await expectAgreement();
      await goOn(id, 'complete', expectAgreement);
      expect(await native(to)).toBe(net.atomic);
    });
  }
});

describe('what lies unwrapped', () => {
  async function command(...words: string[]): Promise<string[]> {
    const said: string[] = [];
    const program = new Command().exitOverride();
    const parts = { db, ledger: world.ledger };
    addWithdrawalCommands(program, {
      withMoney: (work) => work(parts),
      say: (line) => void said.push(line),
      operator: 'olga',
    });
    await program.parseAsync(['withdrawals', ...words], { from: 'user' });
    return said;
  }

  test('is not the operator’s', async () => {
    const { id, net } = await unwrapped();
    const parts = { db, ledger: world.ledger, networks: new Map([['MATIC', chains.network('MATIC')] as const]) };
    const float = () => addFloat(parts, { chain: 'MATIC', amount: amountOf('MATIC', 1n) });
    await expect(float()).rejects.toThrow('Only 0 MATIC');
    expect(await coinWorld.ledgerOf('unwrapped_in_transit', 'MATIC')).toBe(-net.atomic);
    await goOn(id, 'complete');
  });

  for (const how of ['flagged', 'frozen'] as const) {
    test(
      `is held when it was ${how} meanwhile, and goes when it is let go`,
      oneOfMany({ isRepresentative: how === 'flagged' }),
      async () => {
        const { id, net } = await unwrapped();
        if (how === 'flagged') flagged.add(to);
        else await db.query('UPDATE accounts SET frozen_at = now() WHERE id = $1', [user.id]);
        await coinWorld.advance(id);
        expect(await look(id)).toMatchObject({ status: 'held' });
        await expectAgreement();
        expect(await native(to)).toBe(0n);
        await db.query('UPDATE accounts SET frozen_at = NULL WHERE id = $1', [user.id]);
        expect(await command('release', id)).toEqual([`${id} is released.`]);
        expect(await look(id)).toMatchObject({ status: 'unwrapped' });
        await goOn(id, 'complete', expectAgreement);
        expect(await native(to)).toBe(net.atomic);
      },
    );
  }

  test('is wrapped again when the operator refuses it', { tags: ['matrix'] }, async () => {
    const { id } = await unwrapped();
    flagged.add(to);
    await coinWorld.advance(id);
    expect(await command('refund', id)).toEqual([`${id} will be refunded after its native coin is wrapped again.`]);
    // It has rested until now, and nobody else would take it up.
    expect((await db.query('SELECT FROM graphile_worker.jobs WHERE key = $1', [id])).rowCount).toBe(1);
    await goOn(id, 'failed', expectAgreement);
    await expectRefunded(id, 'The operator refused it');
  });
});
