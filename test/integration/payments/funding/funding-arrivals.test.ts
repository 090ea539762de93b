import { type Hex, toHex } from 'viem';
import { beforeEach, describe, expect, test } from 'vitest';
import { Ended } from '../../../../src/kernel/sagas/checkpoint.ts';
import { createSecrets } from '../../../../src/kernel/secrets/secrets.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import type { ChainId } from '../../../../src/money/catalogue.ts';
import { checkHeldDeposits } from '../../../../src/payments/deposits/check-held-deposits.ts';
import { listHeld, releaseHeld } from '../../../../src/payments/deposits/held-deposit.ts';
import { oneNodeLimit } from '../../../../src/payments/deposits/one-node-limit.ts';
import type { ChainReader } from '../../../../src/payments/deposits/read-chain.ts';
import { completeLinks } from '../../../../src/payments/funding/feature.ts';
import { createLink, findLink, listOpenLinks, tokenOf } from '../../../../src/payments/funding/link.ts';
import { findFundingPage } from '../../../../src/payments/funding/page-view.ts';
import { updateUnconfirmed } from '../../../../src/payments/funding/watch-unconfirmed.ts';
import type { Outsider } from '../../../support/chains.ts';
import { endAt, readUp, type User, useDepositWorld } from '../../../support/deposits.ts';
import { endLink } from '../../../support/funding.ts';

const confirmations = 3;
const world = useDepositWorld({ confirmations });
const { chains } = world;
const { db } = world.database;
const secrets = createSecrets('s'.repeat(32));
const chain: ChainId = 'MATIC';

let user: User;
let payer: Outsider;
let reader: ChainReader;

beforeEach(async () => {
  user = await world.newUser();
  payer = await chains.outsider({ tokens: [{ asset: 'USDC', atomic: 10_000n }] });
  await chains.mine(chain, confirmations);
  reader = world.reader(chain, { onDeposits: completeLinks });
  await readUp(reader);
  return () => reader.release();
});

const ask = (atomic: bigint, { id } = user) =>
  db.transaction((tx) =>
    createLink(tx, secrets, { caller: { accountId: id, tier: 'free' }, chain, amount: amountOf('USDC', atomic) }),
  );
const pay = (atomic: bigint) => payer.sendToken({ asset: 'USDC', to: user.address, atomic });
const statusOf = async (id: string) => (await findLink(db, id, user.id)).status;
const lookNow = async () => updateUnconfirmed(db, chains.network(chain), await listOpenLinks(db, chain));
const pageOf = async (id: string) => {
  const view = await findFundingPage(db, secrets, await tokenOf(db, secrets, id));
  if (view === undefined) throw new Error('there is no such page');
  return view;
};
const replaceBigints = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
async function settle(): Promise<void> {
  await chains.mine(chain, confirmations);
  await readUp(reader);
}

describe('what the chain shows before it is final', () => {
  test('is seen, then confirmed, then completed by the deposit', async () => {
    const link = await ask(50n);
    await lookNow();
    expect(await statusOf(link)).toBe('open');
    const txHash = await pay(50n);
    await lookNow();
    expect(await statusOf(link)).toBe('seen');
    expect((await pageOf(link)).arriving).toEqual([{ txHash, amount: amountOf('USDC', 50n), confirmations: 1 }]);
    await chains.mine(chain, confirmations - 1);
    await lookNow();
    expect(await statusOf(link)).toBe('confirmed');
    await readUp(reader);
    expect(await statusOf(link)).toBe('completed');
    expect(await pageOf(link)).toMatchObject({ arriving: [], completion: { txHash } });
    // A look that began before the end changes nothing any more.
    await lookNow();
    expect(await statusOf(link)).toBe('completed');
  });

  test("stays confirmed while it is held, also beyond the link's time, and completes it when it is believed", async () => {
    await reader.release();
    reader = world.reader(chain, { onDeposits: completeLinks, oneNodeLimit: oneNodeLimit(0) });
    const link = await ask(50n);
    const txHash = await pay(50n);
    await settle();
    await lookNow();
    await endLink(db, link);
    await lookNow();
    expect(await statusOf(link)).toBe('confirmed');
    expect((await pageOf(link)).arriving).toEqual([{ txHash, amount: amountOf('USDC', 50n), confirmations: 4 }]);
    const [held] = await listHeld(db);
    await releaseHeld(db, held?.id ?? '');
    const { ledger, log } = world;
    await checkHeldDeposits({ db, ledger, logger: log.logger, onDeposits: completeLinks }, chains.network(chain));
    expect(await statusOf(link)).toBe('completed');
    expect(await pageOf(link)).toMatchObject({ arriving: [], completion: { txHash } });
  });

  test('is forgotten when a reorganisation takes it back', async () => {
    const link = await ask(50n);
    const before = await chains.rpc<Hex>(chain, 'evm_snapshot');
    await pay(50n);
    await lookNow();
    expect(await statusOf(link)).toBe('seen');
    expect(await chains.rpc(chain, 'evm_revert', [before])).toBe(true);
    await chains.rpc(chain, 'evm_increaseTime', [7]);
    await chains.mine(chain, 1);
    await lookNow();
    expect(await statusOf(link)).toBe('open');
    expect((await pageOf(link)).arriving).toEqual([]);
    await settle();
    expect(await world.balance(user)).toBe(0n);
  });

  test('is shown at the link that it is going to complete, and what is for no link at none', async () => {
    const [older, newer] = [await ask(50n), await ask(50n)];
    await pay(60n);
    await pay(7n);
    await lookNow();
    expect([await statusOf(older), await statusOf(newer)]).toEqual(['seen', 'open']);
    const shown = async (id: string) => (await pageOf(id)).arriving.map(({ amount }) => amount.atomic);
    expect([await shown(older), await shown(newer)]).toEqual([[60n], []]);
    await settle();
    expect([await statusOf(older), await statusOf(newer)]).toEqual(['completed', 'open']);
    // What has completed the one is not seen at the other, though the cursor may be behind.
    await lookNow();
    expect(await statusOf(newer)).toBe('open');
    expect(JSON.stringify(await pageOf(newer), replaceBigints)).not.toMatch(/"7"|"60"/);
    // Whatever is written down, the page of a link shows only what completes it.
    await db.query(
      `UPDATE funding_links SET arriving = '[{"txHash":"0x1","atomic":"7","confirmations":1}]' WHERE id = $1`,
      [newer],
    );
    expect(await shown(newer)).toEqual([]);
  });

  test('keeps a link alive until it is final, for this payment and no other', async () => {
    const link = await ask(50n);
    const txHash = await pay(50n);
    await lookNow();
    await endLink(db, link);
    expect(await statusOf(link)).toBe('seen');
    await settle();
    expect(await statusOf(link)).toBe('completed');
    expect((await findLink(db, link, user.id)).completion).toMatchObject({ txHash });

    const another = await ask(50n);
    await endLink(db, another);
    await pay(50n);
    await lookNow();
    await settle();
    expect(await statusOf(another)).toBe('expired');
    expect(await world.balance(user)).toBe(100n);
  });
});

describe('deposits that are credited at once', () => {
  test('by two instances complete one link each, the oldest first, and none twice', async () => {
    const links = [await ask(10n), await ask(10n), await ask(10n)];
    for (let sent = 0; sent < 3; sent++) await pay(10n);
    await chains.mine(chain, confirmations);
    // Both hold the chain, as after a lease that ran out while its holder was still at work.
    const second = world.reader(chain, { onDeposits: completeLinks, holder: 'somebody else' });
    await db.query('UPDATE chain_cursors SET leased_until = now() WHERE chain = $1', [chain]);
    await Promise.all([readUp(reader).catch(() => {}), readUp(second).catch(() => {})]);
    await second.release();
    expect(await world.balance(user)).toBe(30n);
    const completions = await Promise.all(links.map(async (id) => (await findLink(db, id, user.id)).completion));
    expect(new Set(completions.map((completion) => completion?.depositId)).size).toBe(3);
    expect(completions.every((completion) => completion?.amount.atomic === 10n)).toBe(true);
  });

  test('each wait for the other’s link, whatever order they come in', async () => {
    const links: string[] = [];
    for (let count = 0; count < 8; count++) links.push(await ask(5n));
    const insert = (place: number) =>
      db.transaction(async (tx) => {
        const txHash = toHex(place, { size: 32 });
        const id = `dep_test${place}`;
        await tx.query(
          `INSERT INTO deposits (id, chain, tx_hash, position, block_number, account_id, address, sender, asset, atomic, transfer_id)
           VALUES ($1, $2, $3, 0, 1, $4, $5, $5, 'USDC', 5, $6)`,
          [id, chain, txHash, user.id, user.address, `trf_test${place}`],
        );
        await completeLinks(tx, chain, [
          {
            id,
            accountId: user.id,
            asset: 'USDC',
            atomic: 5n,
            txHash,
            position: 0,
            blockNumber: 1n,
            transferId: `trf_test${place}`,
          },
        ]);
      });
    await Promise.all(links.map((_, place) => insert(place)));
    expect(await Promise.all(links.map(statusOf))).toEqual(Array(8).fill('completed'));
  });

  test('are credited with their link or not at all, wherever the process dies', async () => {
    const link = await ask(10n);
    await pay(10n);
    await chains.mine(chain, confirmations);
    await reader.release();
    for (const name of ['deposits.read', 'deposits.credited', 'deposits.cursor_moved'] as const) {
      const mortal = world.reader(chain, { onDeposits: completeLinks, checkpoint: endAt(name) });
      await mortal.step().catch((error: unknown) => expect(error).toBeInstanceOf(Ended));
      const credited = (await world.balance(user)) === 10n;
      expect(await statusOf(link)).toBe(credited ? 'completed' : 'open');
      await mortal.release();
    }
    reader = world.reader(chain, { onDeposits: completeLinks });
    await readUp(reader);
    expect([await world.balance(user), await statusOf(link)]).toEqual([10n, 'completed']);
  });

  test('leave everything as it was when the link cannot be completed', async () => {
    const link = await ask(10n);
    await pay(10n);
    await chains.mine(chain, confirmations);
    await reader.release();
    const failing = world.reader(chain, {
      onDeposits: async (tx, on, deposits) => {
        await completeLinks(tx, on, deposits);
        throw new Error('after the link');
      },
    });
    await expect(failing.step()).rejects.toThrow('after the link');
    await failing.release();
    expect([await world.balance(user), await statusOf(link)]).toEqual([0n, 'open']);
    reader = world.reader(chain, { onDeposits: completeLinks });
    await readUp(reader);
    expect([await world.balance(user), await statusOf(link)]).toEqual([10n, 'completed']);
  });
});
