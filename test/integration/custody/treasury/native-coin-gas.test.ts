import { concat, type Hex, pad, toHex } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { expect, test } from 'vitest';
import { tokenOf } from '../../../../src/chains/network.ts';
import { listSteps } from '../../../../src/custody/steps/chain-step.ts';
import { useCoinWorld } from '../../../support/coins.ts';

// What a contract that is paid native coin can make us spend on gas.
const { world, chains, db, deposit, sweep, withdraw, goOn, advance, read, look, expectAgreement } = useCoinWorld();

const gross = 3n * 10n ** 18n;
const wrapped = () => tokenOf(chains.network('MATIC'), 'MATIC')?.address as Hex;

/** Runs this code for everybody but one sender, from whom it takes all without a word. */
function exceptFrom(one: Hex, code: Hex): Hex {
  const target = pad(toHex(27 + (code.length - 2) / 2), { size: 2 });
  return concat(['0x3373', one, '0x1461', target, '0x57', code, '0x5b00']);
}

const refuse: Hex = '0x60006000fd';
const writeSlots = (count: number): Hex =>
  concat([
    ...Array.from({ length: count }, (_, slot) => concat(['0x600161', pad(toHex(slot), { size: 2 }), '0x55'])),
    '0x00',
  ]);
/** Refuses where gas costs something, as it does in a block and not in every simulation. */
const refuseWhereGasCosts: Hex = '0x3a15600957600080fd5b00';

async function contractOf(code: Hex): Promise<Hex> {
  const address = privateKeyToAddress(generatePrivateKey());
  await chains.rpc('MATIC', 'hardhat_setCode', [address, code]);
  return address;
}

async function gasOf(id: string): Promise<bigint> {
  let used = 0n;
  for (const { hash } of await listSteps(db, id)) {
    if (hash !== null) used += (await chains.network('MATIC').client.getTransactionReceipt({ hash })).gasUsed;
  }
  return used;
}

test.each<[string, () => Hex]>([
  ['wastes gas for the one who really pays', () => exceptFrom(wrapped(), writeSlots(400))],
  ['refuses the one who really pays', () => exceptFrom(wrapped(), refuse)],
  ['refuses where gas costs something', () => refuseWhereGasCosts],
])('a contract that %s is paid nothing, at no cost, and everything goes back', async (_, code) => {
  const user = await world.newUser();
  await deposit(user, 'MATIC', gross);
  await sweep();
  const { id } = await withdraw(user, 'MATIC', { gross, to: await contractOf(code()) });
  await goOn(id, 'failed');
  expect(await gasOf(id)).toBe(0n);
  expect(await world.balance(user, 'MATIC')).toBe(gross);
  await expectAgreement();
});

test('a contract that changes its mind uses no more than was paid for, and is not unwrapped for again that day', async () => {
  const user = await world.newUser();
  await deposit(user, 'MATIC', gross);
  await sweep();
  const to = await contractOf('0x00');
  const { id } = await withdraw(user, 'MATIC', { gross, to });
  for (let round = 0; (await look(id)).status !== 'unwrapped'; round++) {
    expect(round).toBeLessThan(40);
    await advance(id, {
      checkpoint: (name) => {
        if (name === 'withdrawal.unwrapped') throw new Error('stop here');
      },
    }).catch(() => {});
    await read();
  }
  await chains.rpc('MATIC', 'hardhat_setCode', [to, refuse]);
  await goOn(id, 'failed');
  expect(await world.balance(user, 'MATIC')).toBe(gross);

  const again = await withdraw(user, 'MATIC', { gross, to });
  await chains.rpc('MATIC', 'hardhat_setCode', [to, '0x00']);
  await goOn(again.id, 'failed');
  expect((await look(again.id)).error).toMatch(/refused native coin today/);
  expect(await gasOf(again.id)).toBe(0n);
  await expectAgreement();
});

test('a contract that needs much gas is paid with a limit', async () => {
  const user = await world.newUser();
  await deposit(user, 'MATIC', gross);
  await sweep();
  const { id } = await withdraw(user, 'MATIC', { gross, to: await contractOf(writeSlots(5)) });
  await goOn(id, 'complete');
  const { rows } = await db.query<{ gasLimit: bigint }>(
    `SELECT t.gas_limit FROM key_transactions t JOIN chain_steps s ON s.id::text = t.id::text
      WHERE s.saga_id = $1 AND s.step = 'pay'`,
    [id],
  );
  expect(rows).toEqual([{ gasLimit: 200_000n }]);
});
