import { expect, test } from 'vitest';
import { uniswap } from '../../../../src/chains/abi.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { useSwapWorld } from '../../../support/swaps.ts';

const world = useSwapWorld();
const { chains } = world.deposits;

test('what somebody has left in the router comes along as surplus when MATIC is wrapped again', async () => {
  const amount = amountOf('MATIC', 40n * 10n ** 18n);
  const user = await world.newRich(amount);
  const before = await world.owed('surplus', 'MATIC');
  const id = await world.open(user, amount, 'USDC');
  world.providerPlays('swap', 'refuses');
  await world.goOn(id, 'returning', world.step);
  await chains.mint('MATIC', 'WMATIC', uniswap.router, 77n);
  await world.goOn(id, 'failed');
  expect(await world.balance(user, 'MATIC')).toBe(amount.atomic);
  expect((await world.owed('surplus', 'MATIC')) - before).toBe(77n);
  // Nothing is unwrapped any more, nor has less than nothing been.
  await world.checkAtRest();
});
