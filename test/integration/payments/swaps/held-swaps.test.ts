import { beforeAll, expect, test } from 'vitest';
import { type Amount, amountOf } from '../../../../src/money/amount.ts';
import { homeChain } from '../../../../src/money/catalogue.ts';
import { checkHeldDeposits } from '../../../../src/payments/deposits/check-held-deposits.ts';
import { listHeld, releaseHeld } from '../../../../src/payments/deposits/held-deposit.ts';
import { oneNodeLimit } from '../../../../src/payments/deposits/one-node-limit.ts';
import { endLeases, readUp, type User } from '../../../support/deposits.ts';
import { useSwapWorld } from '../../../support/swaps.ts';

const world = useSwapWorld();
const { deposits, look } = world;
const { database, chains } = deposits;
const { db } = database;
const thousand: Amount = amountOf('USDC', 1_000_000_000n);

let user: User;

beforeAll(async () => {
  user = await world.newRich(thousand);
});

/** Nothing that one node tells of is believed, and there is one. */
async function readDoubting(): Promise<void> {
  await endLeases(database);
  const reader = deposits.reader(homeChain, { oneNodeLimit: oneNodeLimit(0) });
  await readUp(reader);
  await reader.release();
}

test('what a swap pays is credited when it is in the books, and not on the word of one node', async () => {
  const id = await world.open(user, thousand, 'ETH');
  for (let round = 0; round < 12; round++) {
    await world.advance(id);
    await readDoubting();
    if ((await world.waitsFor(id))?.includes('books')) break;
  }
  expect(await world.waitsFor(id)).toBe('its output to be booked');
  expect((await look(id)).status).toBe('swapping');
  expect(await world.balance(user, 'ETH')).toBe(0n);
  const held = await listHeld(db);
  expect(held).toHaveLength(1);
  expect(held[0]?.arrival).toMatchObject({ accountId: null, asset: 'ETH' });
  expect(Object.entries(await world.differences()).filter(([, difference]) => difference !== '0')).toEqual([]);

  await releaseHeld(db, held[0]?.id ?? '');
  const { ledger, log } = deposits;
  await checkHeldDeposits({ db, ledger, logger: log.logger }, chains.network(homeChain));
  await world.advance(id);
  expect((await look(id)).status).toBe('completed');
  expect(await world.balance(user, 'ETH')).toBe(held[0]?.arrival.atomic);
  expect(await world.owed('receivables', 'ETH')).toBe(0n);
  expect(Object.entries(await world.differences()).filter(([, difference]) => difference !== '0')).toEqual([]);
});
