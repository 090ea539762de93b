import { cpSync } from 'node:fs';
import { Command } from 'commander';
import { formatUnits, type Hex, parseUnits } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { describe, expect, inject, test } from 'vitest';
import { shopsDataDir } from '../../../sandbox/open-sandbox.ts';
import { openCommandParts } from '../../../src/app/custody.ts';
import { features } from '../../../src/app/features.ts';
import { sagasOf } from '../../../src/app/listed-feature.ts';
import { readSettings } from '../../../src/app/read-settings.ts';
import { addTreasuryCommands } from '../../../src/custody/treasury/commands.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { Ended } from '../../../src/kernel/sagas/checkpoint.ts';
import type { Saga } from '../../../src/kernel/sagas/define-saga.ts';
import { listOpenSagas } from '../../../src/kernel/sagas/list-sagas.ts';
import { amountOf } from '../../../src/money/amount.ts';
import { addOrderCommands } from '../../../src/shopping/orders/commands.ts';
import { startChains, type TestChains } from '../../support/chains.ts';
import type { Client } from '../../support/client.ts';
import { copyDatabase, type OwnDatabase, open } from '../../support/copied-database.ts';
import { lendChains } from '../../support/lent-chains.ts';
import { oneOfMany } from '../../support/matrix.ts';
import { checkMoney, mintedFor, rehearse, rehearseCall } from '../../support/rehearsals.ts';
import { type Service, startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

// A backup is taken at places that a saga declares, the service goes on to the end, and then each backup is put back as
// docs/restore.md says.
const sagas = sagasOf(features);
/** An anchor moves no money, and the next one contains the next root. */
const moving = sagas.filter(({ name }) => name !== 'decision_anchor');
const rehearsals = moving.flatMap((saga) =>
  [{ ...saga.rehearsal, checkpoints: saga.checkpoints }, ...(saga.otherRehearsals ?? [])].map((rehearsal) => ({
    saga,
    rehearsal,
    minted: mintedFor(rehearsal),
  })),
);

/** Where the backups are taken. `npm test` leaves them to `restore.test.ts`, which puts back a few by hand. */
const shown: Partial<Record<string, readonly string[]>> = {
  'bridge USDC': ['bridge.opened'],
  'swap USDC': ['swap.opened'],
  'withdrawal USDC': ['withdrawal.pay.asked'],
  'withdrawal MATIC': ['withdrawal.pay.asked'],
  'purchase USDC': ['purchase.sending'],
  'sweep USDC': ['sweep.written'],
  'coin_sweep ETH': ['coin_sweep.lent'],
  'house_move USDC': ['house_move.begun'],
  'settlement USDC': ['nano.claimed', 'settlement.opened'],
  'order USDC': ['order.opened'],
};

const briefly = { purchases: { timeoutMs: 8_000 } };

const rows = rehearsals.flatMap((row) => {
  const name = `${row.saga.name} ${row.minted.asset}`;
  const places = shown[name];
  return places === undefined ? [] : [{ ...row, places }];
});

test('every saga is in the table, and every place is one of its own', () => {
  expect(rehearsals.map(({ saga, minted }) => `${saga.name} ${minted.asset}`).toSorted()).toEqual(
    Object.keys(shown).toSorted(),
  );
  for (const { rehearsal, places } of rows) expect(rehearsal.checkpoints).toEqual(expect.arrayContaining([...places]));
});

describe.each(rows)(
  'a backup from the middle of a $saga.name of $minted.asset',
  ({ saga, rehearsal, minted, places }) => {
    const options = { ...oneOfMany({ isRepresentative: false }), timeout: 1_800_000 };

    test('leaves every owner whole when it is put back', options, async () => {
      const world = await copyDatabase();
      const { lost, backups, people } = await onChains(world, (chains) =>
        liveAndBackUp(chains, { rehearsal, minted }, places),
      );
      for (const { place, backup } of backups) {
        // Shops go on too.
        cpSync(shopOf(lost), shopOf(backup), { recursive: true });
        // Each is put back to the same world: what one does there is not for the others to see.
        await onChains(await copyDatabase(world.name), (chains) =>
          putBack(chains, backup, { saga, rehearsal, minted }, people, place),
        );
      }
    });
  },
);

/** The chains are in a database of their own: they go on while the service's is put back. */
async function onChains<Result>(world: OwnDatabase, work: (chains: TestChains) => Promise<Result>): Promise<Result> {
  const db = open(world);
  const chains = await startChains({ url: world.url, db });
  try {
    return await work(chains);
  } finally {
    await chains.stop();
    await db.close();
  }
}

interface Rehearsed {
  readonly saga: Saga;
  readonly rehearsal: Saga['rehearsal'];
  readonly minted: ReturnType<typeof mintedFor>;
}

interface People {
  readonly owner: { readonly key: string; readonly address: Hex };
  /** Somebody who only deposits, and whose deposit is swept after every backup. */
  readonly bystander: { readonly key: string; readonly address: Hex };
  readonly outside: Hex;
  /** Sends the call again that was paid for by a signature. */
  readonly call: ((to: Client) => Promise<{ readonly status: number }>) | undefined;
}

const deposited = parseUnits('30', 6);

/** The life that is lost: to the last place with a backup at each, and then to the end of everything. */
async function liveAndBackUp(
  chains: TestChains,
  { rehearsal, minted }: Omit<Rehearsed, 'saga'>,
  places: readonly string[],
) {
  const database = await copyDatabase();
  const outsider = privateKeyToAccount(generatePrivateKey());
  const outside = outsider.address;
  let giveBack = await lendChains(database, chains);
  const passed = new Set<string>();
  let life = await liveUntil(database, 'commands' in rehearsal ? undefined : places[0], passed);
  const owner = await newOwner(life.service);
  const bystander = await newOwner(life.service);
  const asset = minted.asset === 'MATIC' ? 'WMATIC' : minted.asset;
  await chains.mint('MATIC', asset, 'call' in rehearsal ? outside : owner.address, minted.atomic);
  if (!('deposit' in rehearsal || 'call' in rehearsal)) await isSwept(database);
  if ('commands' in rehearsal) {
    await isSwept(database);
    for (const command of rehearsal.commands) await operator(database)(...command);
    await life.service.stop();
    life = await liveUntil(database, places[0], passed);
  }
  const call = 'call' in rehearsal ? await rehearseCall(life.service.client, rehearsal.call, outsider) : undefined;
  const request = 'request' in rehearsal ? rehearse(rehearsal.request, owner.key, outside) : undefined;
  await request?.(life.service.client).catch(() => {});
  void call?.(life.service.client).catch(() => {});

  const backups: { place: string; backup: OwnDatabase }[] = [];
  for (let place = places[0]; place !== undefined; ) {
    await life.reached();
    await life.service.stop();
    await giveBack();
    backups.push({ place, backup: await copyDatabase(database.name) });
    giveBack = await lendChains(database, chains);
    // What was under way elsewhere when the place was reached may have come to the next ones, and is in the backup like that.
    place = places.find((one) => !passed.has(one));
    life = await liveUntil(database, place, passed);
    if (call !== undefined) {
      const db = open(database);
      await db.query('UPDATE payment_claims SET leased_until = clock_timestamp() WHERE served_at IS NULL');
      await db.close();
      void call(life.service.client).catch(() => {});
    }
  }
  await chains.mint('MATIC', 'USDC', bystander.address, deposited);
  const db = open(database);
  await until('the deposit to be swept', async () => {
    const { rows } = await db.query('SELECT FROM deposits WHERE lower(address) = lower($1) AND swept_at IS NOT NULL', [
      bystander.address,
    ]);
    return rows.length > 0;
  });
  await until('everything to be finished', async () => (await listOpenSagas(db, sagas)).length === 0, 90_000);
  await db.close();
  await life.service.stop();
  await giveBack();
  return { lost: database, backups, people: { owner, bystander, outside, call } };
}

/** Where the demo shop of a database keeps its orders. */
const shopOf = ({ url }: OwnDatabase) => shopsDataDir({ dataDir: inject('dataDir'), databaseUrl: url });

interface Life {
  readonly service: Service;
  /** It has come to the place, and does nothing more on chains. */
  reached(): Promise<void>;
}

async function liveUntil(database: OwnDatabase, place: string | undefined, passed: Set<string>): Promise<Life> {
  let isOver = false;
  const service = await startService(database, {
    settings: briefly,
    checkpoint(name) {
      if (!isOver && name !== place) return;
      isOver = true;
      passed.add(name);
      throw new Ended(name);
    },
  });
  return { service, reached: () => until(`the place ${place}`, async () => isOver).then(() => {}) };
}

async function newOwner({ client }: Service) {
  const { key } = await client.register();
  const address = (await client.get('/account', key)).body.depositAddress as Hex;
  return { key, address };
}

async function isSwept(database: OwnDatabase): Promise<void> {
  const db = open(database);
  await until('the deposit to be swept', async () => {
    const { rows } = await db.query('SELECT FROM deposits WHERE swept_at IS NOT NULL');
    return rows.length > 0;
  });
  await db.close();
}

/** `paywright …`, and answers what it says. */
function operator(database: OwnDatabase) {
  return async (...words: string[]): Promise<string[]> => {
    const db = open(database);
    const config = readSettings({ DATABASE_URL: database.url });
    const { parts, close } = await openCommandParts({
      config,
      logger: createLogger('silent'),
      url: database.url,
      db,
    });
    const said: string[] = [];
    const program = new Command().exitOverride();
    for (const add of [addTreasuryCommands, addOrderCommands]) {
      add(
        program,
        (work) => work(parts),
        (line) => said.push(line),
      );
    }
    try {
      await program.parseAsync(words, { from: 'user' });
    } finally {
      await close();
      await db.close();
    }
    return said;
  };
}

/** docs/restore.md, step by step. */
async function putBack(
  chains: TestChains,
  backup: OwnDatabase,
  { saga, rehearsal, minted }: Rehearsed,
  { owner, bystander, outside, call }: People,
  place: string,
): Promise<void> {
  const giveBack = await lendChains(backup, chains);
  const paywright = operator(backup);
  const treasury = (...words: string[]) => paywright('treasury', ...words);
  await treasury('unknown');
  await paywright('orders', 'restored');
  await rotateSeed(treasury);
  const service = await startService(backup, { settings: briefly });
  const db = open(backup);
  try {
    if (call !== undefined) {
      await until('the call to be answered', async () => (await call(service.client)).status === 200);
    }
    await until(
      `everything to be finished that was at ${place}`,
      async () => {
        await explainAll(treasury, (await listOpenSagas(db, sagas)).length === 0);
        return (
          (await listOpenSagas(db, sagas)).length === 0 &&
          (await treasury('unknown')).join().includes('knows every transaction')
        );
      },
      60_000,
    ).catch(async (error: unknown) => {
      throw new Error(
        `${error}\n${JSON.stringify(await listOpenSagas(db, sagas), null, 1)}\n${(await treasury('unknown')).join('\n')}`,
      );
    });
    const { rows } = await db.query<{ status: string; row: object }>(
      `SELECT status, to_jsonb(s) AS row FROM ${saga.table} s`,
    );
    // What begins by itself may have nothing left to do. A shop is no part of the backup: what it answers too late comes back.
    if ('request' in rehearsal) {
      const ends: readonly string[] = saga.name === 'order' ? [rehearsal.endsAs, 'failed'] : [rehearsal.endsAs];
      expect(
        rows.some(({ status }) => ends.includes(status)),
        `${place}: ${JSON.stringify(rows)}`,
      ).toBe(true);
      if (saga.name === 'order' && !rows.some(({ status }) => status === rehearsal.endsAs)) {
        expect(await balanceOf(service, owner.key)).toBe(formatUnits(minted.atomic, 6));
      }
    }

    // Whoever has the old address pays to it, and both take out what they have.
    await chains.mint('MATIC', 'USDC', bystander.address, deposited);
    await until('the second deposit', async () => (await balanceOf(service, bystander.key)) === '60');
    await until('everything to be swept', async () => {
      const { rows: unswept } = await db.query(
        'SELECT FROM deposits WHERE swept_at IS NULL AND account_id IS NOT NULL',
      );
      return unswept.length === 0;
    });
    const away = privateKeyToAccount(generatePrivateKey()).address;
    await withdraw(service, bystander.key, { amount: 60, address: away });
    const all = minted.asset === 'USDC' ? amountOf('USDC', minted.atomic + 2n * deposited) : minted;
    await checkMoney({ db, url: backup.url }, service.client, { outside: [outside, away], minted: all });
  } finally {
    await service.stop();
    await db.close();
    await giveBack();
  }
}

/** So that addresses given out after the backup are not given out again. What waits for its backup in the backup has one. */
async function rotateSeed(treasury: ReturnType<typeof operator>): Promise<void> {
  const [first = ''] = await treasury('rotate-seed');
  const seed = /^Seed (\d+) is created/.exec(first)?.[1];
  if (seed !== undefined) await treasury('rotate-seed', '--backed-up', seed);
}

const balanceOf = async ({ client }: Service, key: string) => (await client.get('/circle/balance', key)).body.USDC;

async function withdraw({ client }: Service, key: string, body: { amount: number; address: Hex }): Promise<void> {
  const { status, body: opened } = await client.post('/circle/withdraw', body, key);
  expect(status, JSON.stringify(opened)).toBe(200);
  await until('the withdrawal', async () => {
    const { body: now } = await client.get(`/circle/withdrawals/${opened.txId}`, key);
    return now.status === 'complete';
  });
}

/** What is held was paid by what holds it, unless that is refused; and when nothing waits any more, the rest has paid nothing. */
async function explainAll(treasury: ReturnType<typeof operator>, isAllDone: boolean): Promise<void> {
  const lines = await treasury('unknown');
  for (const [index, line] of lines.entries()) {
    const number = /^(\d+) {3}/.exec(line)?.[1];
    if (number === undefined) continue;
    const below = lines.slice(index + 1);
    const end = below.findIndex((next) => !next.startsWith('    '));
    const waiting = below.slice(0, end < 0 ? undefined : end);
    const saga = waiting.map((one) => / ([a-z]+_[0-9a-z]+)[:,]/.exec(one)?.[1]).find((id) => id !== undefined);
    if (saga !== undefined) {
      await treasury('explain', number, '--paid', saga).catch(() => treasury('explain', number, '--unrelated'));
    } else if (isAllDone) await treasury('explain', number, '--unrelated');
  }
}
