import { getAddress } from 'viem';
import { describe, expect, test } from 'vitest';
import { createAddressBook } from '../../../../src/custody/watch/address-book.ts';
import { readUp, useDepositWorld } from '../../../support/deposits.ts';
import { isMatrix } from '../../../support/matrix.ts';
import { startUnrulyRpc } from '../../../support/unruly-rpc.ts';

const world = useDepositWorld();
const { chains } = world;
const { db } = world.database;

describe('with very many wallets', () => {
  const count = isMatrix ? 100_000 : 10_000;

  test('each is known, new ones too, and a deposit finds its owner', async () => {
    const first = world.reader('OP');
    await readUp(first);
    await first.release();
    // Of one account only one wallet is in use; that the others are retired makes no difference here.
    const owner = await world.newUser();
    // Some at a time: all of them would take longer than a statement may, where others work too.
    for (let place = 1; place <= count; place += 10_000) {
      await db.query(
        `INSERT INTO wallets (id, account_id, chain, provider, provider_ref, address, created_at, retired_at)
           SELECT 'wal_many' || i, $1, 'MATIC', 'keys', 'many' || i, '0x' || md5('a' || i) || substr(md5('b' || i), 1, 8),
               now() - interval '1 day', now() FROM generate_series($2::int, $2::int + 9999) i`,
        [owner.id, place],
      );
    }
    const book = createAddressBook(db);
    await book.refresh();
    expect(book.addresses.length).toBeGreaterThanOrEqual(count);

    const late = await world.newUser();
    await world.keepOn('OP', [owner, late]);
    const { rows } = await db.query<{ address: string }>("SELECT address FROM wallets WHERE id = 'wal_many777'");
    const some = getAddress(rows[0]?.address ?? '');
    await chains.mint('OP', 'USDC', some, 21n);
    await chains.mint('OP', 'USDC', late.address, 22n);
    const settings = chains.local.settings.get('OP');
    if (settings === undefined) throw new Error('OP is not running');
    const { network, asked } = await startUnrulyRpc('OP', settings);
    const reader = world.reader('OP', { network, book });
    await readUp(reader);
    // A few blocks are read whole: asking for each of the wallets would take hundreds of requests.
    expect(asked.get('eth_getLogs')).toBe(1);
    await chains.mine('OP', 2_000);
    await chains.mint('OP', 'USDC', some, 30n);
    await readUp(reader);
    expect(await world.balance(owner, 'USDC', 'OP')).toBe(51n);
    expect(await world.balance(late, 'USDC', 'OP')).toBe(22n);
    expect(asked.get('eth_getLogs')).toBeLessThan(100);
  });
});
