import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { OutgoingLimits } from '../../../../src/custody/limits/outgoing-limits.ts';
import { Problem } from '../../../../src/kernel/http/problem.ts';
import { noBrakes } from '../../../support/brakes.ts';
import type { User } from '../../../support/deposits.ts';
import { usePurchaseWorld } from '../../../support/purchases.ts';
import { sells, startSeller, termsOf } from '../../../support/seller.ts';

const seller = await startSeller();
const world = usePurchaseWorld(seller);
const { db } = world.deposits.database;
const { log } = world.deposits;

let ada: User;
beforeAll(async () => {
  await world.newRich(20_000_000n);
  await world.fillFloat();
  sells(seller, termsOf(seller, { amount: '600000' }), (_payment, _asked, response) => void response.end('goods'));
});
beforeEach(async () => {
  ada = await world.newRich(5_000_000n);
  await db.query("UPDATE purchases SET created_at = created_at - interval '2 days'");
});

/** What the seller delivers for 0.6 USDC, or the code of what speaks against it. */
async function pay(brakes: Partial<OutgoingLimits>, key?: string): Promise<unknown> {
  const answer = await world.buy(ada, { brakes: { ...noBrakes, ...brakes }, ...(key !== undefined && { key }) });
  return answer instanceof Problem ? answer.code : answer.answer.body;
}

const daily = { perDay: { free: 1_000_000n, pro: undefined, enterprise: undefined } };

test('sellers are paid within what an account may send in a day', async () => {
  expect(await pay(daily, 'first')).toBe('goods');
  expect(await pay(daily)).toBe('daily_limit_reached');
  expect(await world.balance(ada)).toBe(4_400_000n);
  // What was answered before is answered again.
  expect(await pay(daily, 'first')).toBe('goods');
  await db.query("UPDATE purchases SET created_at = created_at - interval '24 hours'");
  expect(await pay(daily)).toBe('goods');
});

test('of many at once as many pass as there is room for', async () => {
  const answers = await Promise.all(Array.from({ length: 4 }, () => pay(daily)));
  expect(answers.toSorted()).toEqual([...Array.from({ length: 3 }, () => 'daily_limit_reached'), 'goods']);
});

test('sellers are paid within what may leave the service in an hour', async () => {
  const hourly = { perHour: 1_000_000n };
  expect(await pay(hourly)).toBe('goods');
  expect(await pay(hourly)).toBe('hourly_limit_reached');
  expect(await pay(hourly)).toBe('hourly_limit_reached');
  expect(await world.balance(ada)).toBe(4_400_000n);
  // Nothing waits for the operator, so he is told, once for all in a row.
  const complaints = log.lines('error').filter(({ msg }) => String(msg).includes('WITHDRAWALS_PER_HOUR'));
  expect(complaints).toHaveLength(1);
  await db.query("UPDATE purchases SET created_at = created_at - interval '1 hour'");
  expect(await pay(hourly)).toBe('goods');
});

test('while an allow-list is on, sellers are paid only at addresses on it', async () => {
  await db.query('INSERT INTO withdrawal_allow_lists (account_id) VALUES ($1)', [ada.id]);
  expect(await pay({})).toBe('address_not_allowed');
  await db.query(
    `INSERT INTO withdrawal_addresses (account_id, address, added_at, usable_from)
     VALUES ($1, lower($2), now() - interval '1 day', now())`,
    [ada.id, seller.payTo],
  );
  expect(await pay({})).toBe('goods');
});
