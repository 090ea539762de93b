import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createClaimTable } from '../../../src/kernel/db/claim-database.ts';
import { grantService } from '../../../src/kernel/db/grant-service.ts';
import { usualPatience } from '../../../src/kernel/db/migration-lock.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { userAccount } from '../../../src/ledger/account-id.ts';
import { type ArchiveOptions, archiveMonth } from '../../../src/ledger/archive/archive-month.ts';
import { verifyArchive } from '../../../src/ledger/archive/verify-archive.ts';
import { balancesOf } from '../../../src/ledger/balances.ts';
import { addLedgerCommands } from '../../../src/ledger/commands.ts';
import { LedgerUnavailable } from '../../../src/ledger/errors.ts';
import { listHistory } from '../../../src/ledger/history.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { listArchives, listMonths } from '../../../src/ledger/months.ts';
import { findEarlier } from '../../../src/ledger/post-batch.ts';
import type { Posting } from '../../../src/ledger/posting.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { amountOf } from '../../../src/money/amount.ts';
import { administer, useDatabase } from '../../support/database.ts';
import { createOwners, deposit, fund, scope, transfer } from '../../support/ledger.ts';
import { endMonth } from '../../support/months.ts';
import { readStatement, statementOf } from '../../support/statement.ts';
import { until } from '../../support/until.ts';

/** Three months of a ledger, of which the oldest two are moved to files. */
const { db, url } = useDatabase();
const logger = createLogger('silent');
const ledger = createLedger({ db, logger });
const role = `archiver_of_${new URL(url).pathname.slice(1)}`;
let folder = '';
let owners: bigint[] = [];
let ada = 0n;
let bob = 0n;
/** The beginnings of the second and the third month. */
const begins: Date[] = [];

const patience = { ...usualPatience, lockMs: 500 };
const options: ArchiveOptions = { url, db, needs: async () => [], patience, restMs: 0 };
const fileOf = (name: string) => join(folder, `${name}.jsonl.gz`);
const archive = (name: string, more: Partial<ArchiveOptions> = {}, file = fileOf(name)) =>
  archiveMonth({ ...options, ...more }, { name, file });

/** A posting with more entries than fit into its row, and a text that other readers split. */
function exchange(owner: bigint, other: bigint, atomic: bigint): Posting {
  return {
    type: 'swap',
    amount: amountOf('USDC', atomic),
    description: 'one\u2028line\nor two',
    details: { rate: 1.25, big: '123456789012345678901234567890' },
    entries: [
      { account: userAccount(owner, 'USDC'), atomic: -atomic },
      { account: userAccount(other, 'USDC'), atomic },
      { account: userAccount(other, 'EURC'), atomic: -atomic },
      { account: userAccount(owner, 'EURC'), atomic },
    ],
  };
}

/** Generated postings; the last owner moves in the first month only. */
async function fillMonth(seed: number, movers: readonly bigint[]): Promise<void> {
  let state = seed;
  const random = (below: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const postings = Array.from({ length: 150 }, (_, index) => {
    const from = movers[random(movers.length)] as bigint;
    const to = movers.find((one) => one !== from) as bigint;
    const atomic = BigInt(1 + random(500));
    if (index % 5 === 0) return deposit(from, atomic, `deposit:MATIC:${seed}:${index}`);
    return index % 7 === 0 ? exchange(from, to, 1n) : transfer(from, to, atomic);
  });
  await Promise.all(postings.map((posting) => ledger.post(posting)));
}

async function nextMonth(name: string): Promise<void> {
  await endMonth(db, name);
  await sleep(5);
  begins.push(new Date());
  await sleep(5);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'archive-'));
  const created = await createOwners(db, 4);
  owners = created.map(({ id }) => id);
  [ada = 0n, bob = 0n] = owners;
  await fund(ledger, created, 100_000n);
  for (const owner of owners) await ledger.post(deposit(owner, 1_000n, `deposit:MATIC:euro:${owner}`, 'EURC'));
  await ledger.post(transfer(ada, bob, 100n, { idempotency: scope(ada, 'old') }));
  await fillMonth(1, owners);
  await nextMonth('second');
  await fillMonth(2, owners.slice(0, 3));
  await nextMonth('third');
  await ledger.post(transfer(ada, bob, 100n, { idempotency: scope(ada, 'new') }));
  await fillMonth(3, owners.slice(0, 3));
  await administer(inject('postgresUrl'), `CREATE ROLE "${role}" LOGIN`);
  await createClaimTable(url);
  await grantService(url, role, usualPatience);
});
afterAll(async () => {
  await db.query(`DROP OWNED BY "${role}"`);
  await administer(inject('postgresUrl'), `DROP ROLE "${role}"`);
  await ledger.stop();
  await rm(folder, { recursive: true });
});

const historyOf = async (owner: bigint) => (await listHistory(db, { ownerId: owner, limit: 1_000 })).entries;
const account = () => userAccount(ada, 'USDC');
const secondMonth = () => ({ account: account(), from: begins[0] as Date, to: begins[1] as Date });

async function namesOf(): Promise<string[]> {
  return (await listMonths(db)).map(({ name }) => name);
}

describe('a month is not archived', () => {
  it.each([
    ['second', 'second is not the oldest month.'],
    ['fourth', 'There is no month fourth in the ledger'],
  ])('out of turn: %s', async (name, reason) => {
    await expect(archive(name)).rejects.toThrow(reason);
  });

  it('within two days of its end', async () => {
    await expect(
      archiveMonth({ url, db, needs: options.needs, patience }, { name: 'first', file: 'x' }),
    ).rejects.toThrow('A month can be archived 48 hours after its end.');
  });

  it('while an event of it waits, or another room needs it', async () => {
    const { rows } = await db.query<{ id: string }>('SELECT gen_random_uuid() AS id');
    await db.query(
      `INSERT INTO ledger.events (id, account_id, type, posting_id, created_at)
       SELECT $1, $2, 'payment.sent', id, posted_at FROM ledger.postings ORDER BY posted_at LIMIT 1`,
      [rows[0]?.id, ada],
    );
    const needs = async () => ['The reversal of dep_1 is open.'];
    await expect(archive('first', { needs })).rejects.toThrow(
      /^first cannot be archived yet\.\nWebhook events of it wait.*\nThe reversal of dep_1 is open\.$/,
    );
    await db.query('DELETE FROM ledger.events');
  });

  it('by the role of the service', async () => {
    const theirs = Object.assign(new URL(url), { username: role }).href;
    await expect(archive('first', { url: theirs })).rejects.toThrow('Only the role that owns the tables');
  });

  it('over another file', async () => {
    await writeFile(fileOf('taken'), 'precious');
    await expect(archive('first', {}, fileOf('taken'))).rejects.toThrow('exists and is another file');
    expect(await readFile(fileOf('taken'), 'utf8')).toBe('precious');
  });

  it('halfway: nothing is left of a file that could not be finished', async () => {
    expect(await readdir(folder)).toEqual(['taken.jsonl.gz']);
    expect(await namesOf()).toEqual(expect.arrayContaining(['first', 'second', 'third']));
  });
});

describe('an archive that ends before its commit', () => {
  it('leaves everything as it was, and keeps another from starting meanwhile', async () => {
    const before = await verifyLedger(db);
    const waiting = async () => {
      const { rows } = await db.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'paywright-archive' AND wait_event_type = 'Lock'`,
      );
      return rows[0]?.pid;
    };
    const held = await db.pool.connect();
    await held.query('BEGIN; LOCK TABLE ledger.entry_rows IN ACCESS SHARE MODE');
    const ended = expect(archive('first', { patience: { ...patience, lockMs: 20_000 } })).rejects.toThrow(
      'The connection to the database was lost.',
    );
    const pid = await until('an archive that waits', waiting);
    await expect(archive('first', {}, fileOf('other'))).rejects.toThrow('Another process is archiving a month.');
    await db.query('SELECT pg_terminate_backend($1)', [pid]);
    await ended;
    await held.query('ROLLBACK');
    held.release();
    expect(await namesOf()).toContain('first');
    expect(await listArchives(db)).toEqual([]);
    expect(await verifyLedger(db)).toEqual(before);
    expect((await verifyArchive(fileOf('first'))).problems, 'the file was whole by then').toEqual([]);
  });

  it('gives way to a reader, and gives up when that does not end', async () => {
    const held = await db.pool.connect();
    await held.query('BEGIN; LOCK TABLE ledger.postings IN ACCESS SHARE MODE');
    try {
      const failing = archive('first', { patience: { ...patience, patienceMs: 100 } });
      await expect(failing).rejects.toThrow(/^The archive of first failed: it timed out waiting for/);
    } finally {
      await held.query('ROLLBACK');
      held.release();
    }
    expect(await namesOf()).toContain('first');
  });
});

describe('the oldest month', () => {
  it('moves to its file, and everything later stays as it was', async () => {
    const before = {
      ledger: await verifyLedger(db),
      history: await historyOf(ada),
      statement: await statementOf(db, secondMonth()),
      balances: await balancesOf(db, ada),
    };
    const first = await statementOf(db, { ...secondMonth(), from: new Date(0), to: begins[0] as Date });
    // The same file as the run before has left.
    const { digest, postings, entries, problems } = await archive('first');
    expect(problems).toEqual([]);
    expect(digest).toBe(
      createHash('sha256')
        .update(await readFile(fileOf('first')))
        .digest('hex'),
    );

    expect(await namesOf()).not.toContain('first');
    expect(await listArchives(db)).toMatchObject([
      { name: 'first', from: null, digest, postings: BigInt(postings), entries: BigInt(entries) },
    ]);
    const after = await verifyLedger(db);
    expect(after.problems).toEqual([]);
    expect(after.postings + BigInt(postings)).toBe(before.ledger.postings);
    expect(after.entries + BigInt(entries)).toBe(before.ledger.entries);
    expect(await balancesOf(db, ada)).toEqual(before.balances);
    expect(await statementOf(db, secondMonth())).toEqual(before.statement);
    expect(before.statement.opening).toEqual(first.closing);
    const since = begins[0] as Date;
    expect(await historyOf(ada)).toEqual(before.history.filter(({ posting }) => posting.postedAt >= since));
  });

  it('opens statements of those who did not move since', async () => {
    const still = userAccount(owners[3] as bigint, 'USDC');
    const { opening, closing, entries } = await statementOf(db, { ...secondMonth(), account: still });
    expect(entries).toEqual([]);
    expect(opening.atomic).toBeGreaterThan(0n);
    expect(closing).toEqual(opening);
    expect(await historyOf(owners[3] as bigint)).toEqual([]);
  });

  it('has no statement any more', async () => {
    const month = new Date().toISOString().slice(0, 7);
    await expect(readStatement(db, { accountId: ada, month, currency: 'USDC' })).rejects.toMatchObject({
      code: 'month_archived',
      status: 410,
    });
  });

  it('still refuses its references and keys, without harm to others of the batch', async () => {
    const before = await verifyLedger(db);
    const old = deposit(ada, 5n, `deposit:MATIC:euro:${ada}`, 'EURC');
    const answers = await Promise.allSettled([
      ledger.post(deposit(ada, 1n, 'deposit:MATIC:3:0')),
      ledger.post(old),
      ledger.post(transfer(ada, bob, 100n, { idempotency: scope(ada, 'new') })),
      ledger.post(transfer(ada, bob, 100n, { idempotency: scope(ada, 'old') })),
      ledger.post(deposit(bob, 1n, 'deposit:MATIC:fresh:0')),
    ]);
    const refused = { status: 'rejected', reason: expect.any(LedgerUnavailable) };
    const duplicate = { status: 'fulfilled', value: { outcome: 'duplicate' } };
    const posted = { status: 'fulfilled', value: { outcome: 'posted' } };
    expect(answers).toMatchObject([duplicate, refused, duplicate, refused, posted]);
    const within = db.transaction((tx) => ledger.postWithin(tx, [old]));
    await expect(within).rejects.toMatchObject({ cause: { message: expect.stringContaining('was archived') } });
    await expect(findEarlier(db, scope(ada, 'old'))).rejects.toBeInstanceOf(LedgerUnavailable);
    expect(await verifyLedger(db)).toMatchObject({ problems: [], postings: before.postings + 1n });
  });

  it('is missed when its balances are not what the ledger goes on from', async () => {
    const change = (by: number) =>
      db.query('UPDATE ledger.archived_balances SET balance = balance + $2 WHERE account_id = $1', [account(), by]);
    await change(1);
    expect((await verifyLedger(db)).problems).toHaveLength(3);
    await change(-1);
    expect((await verifyLedger(db)).problems).toEqual([]);
  });

  it.each(['DELETE FROM ledger.archived_balances', 'DELETE FROM ledger.archives', 'TRUNCATE ledger.archives'])(
    'withstands: %s',
    async (sql) => {
      await expect(db.query(sql)).rejects.toMatchObject({ code: '23001' });
    },
  );

  it('is followed by the next, which continues it', async () => {
    const { digest } = await verifyArchive(fileOf('first'));
    const { header, closing, problems } = await archive('second');
    expect(header).toMatchObject({ month: 'second', previous: digest });
    expect(problems).toEqual([]);
    expect(closing.get(userAccount(owners[3] as bigint, 'USDC'))?.balance).toBeGreaterThan(0n);
    expect((await verifyLedger(db)).problems).toEqual([]);
    await expect(archive('third')).rejects.toThrow('third is one of the last two months');
  });
});

describe('a file that was changed', () => {
  type Lines = string[];
  const place = (lines: Lines, part: string) => lines.findIndex((line) => line.includes(`"${part}"`));
  const swap = (lines: Lines, at: number) => lines.splice(at, 2, lines[at + 1] as string, lines[at] as string);

  /** With a digest that fits again, as somebody would who knows the format. */
  async function change(edit: (lines: Lines) => void, refit = true): Promise<readonly string[]> {
    const lines = gunzipSync(await readFile(fileOf('second')))
      .toString()
      .split('\n')
      .slice(0, -1);
    edit(lines);
    const before = lines.slice(0, -1).map((line) => `${line}\n`);
    const sha256 = createHash('sha256').update(before.join('')).digest('hex');
    const footer = lines.at(-1) as string;
    lines[lines.length - 1] = refit ? footer.replace(/"sha256":"\w+"/, `"sha256":"${sha256}"`) : footer;
    await writeFile(fileOf('changed'), gzipSync(lines.map((line) => `${line}\n`).join('')));
    return (await verifyArchive(fileOf('changed'))).problems;
  }

  it('is sound while nothing was', async () => {
    expect(await change(() => {})).toEqual([]);
  });

  it.each<[string, (lines: Lines) => void, RegExp]>([
    ['an amount', (lines) => edited(lines, /"amount" : "(\d+)"/, '"amount" : "1$1"'), /changed account \d+ by -?1\d+/],
    ['a balance', (lines) => edited(lines, /"payerAfter" : "(\d+)"/, '"payerAfter" : "1$1"'), /^Line \d+: posting/],
    ['a missing posting', (lines) => lines.splice(place(lines, 'posting') + 3, 1), /changed account|footer counts/],
    ['the order', (lines) => swap(lines, place(lines, 'posting') + 3), /is out of order/],
    ['an opening balance', (lines) => lines.splice(place(lines, 'opening'), 1), /from 0 to|footer counts/],
    ['a closing balance', (lines) => lines.splice(place(lines, 'closing'), 1), /are closed/],
    ['a repeated line', (lines) => lines.splice(4, 0, lines[4] as string), /is out of order/],
    ['a line of something else', (lines) => lines.splice(4, 0, '{}'), /^Line 5: is not a line of an archive/],
    ['no footer', (lines) => lines.splice(-1, 1), /the file ends without a footer|are closed/],
  ])('is named: %s', async (_, edit, problem) => {
    const problems = await change(edit);
    expect(problems.join('\n')).toMatch(problem);
  });

  function edited(lines: Lines, what: RegExp, by: string): void {
    const at = place(lines, 'payerAfter');
    const payers = lines.findIndex((line, index) => index >= at && what.test(line) && !line.includes('"payer" : null'));
    lines[payers] = (lines[payers] as string).replace(what, by);
  }

  it('is named by its digest when a text was changed that no balance depends on', async () => {
    const edit = (lines: Lines) => edited(lines, /"type" : "\w+"/, '"type" : "gift"');
    expect(await change(edit, false)).toEqual([expect.stringMatching(/the footer has the digest/)]);
  });

  it('is named when any byte was flipped, cut off or added', async () => {
    const whole = await readFile(fileOf('second'));
    const verifyBytes = async (bytes: Buffer) => {
      await writeFile(fileOf('changed'), bytes);
      return verifyArchive(fileOf('changed'));
    };
    const sound = await verifyBytes(whole);
    // The first ten bytes are the header of gzip, with flags that nothing depends on. The digest of the file covers them.
    for (let at = 0; at < whole.length; at += at < 10 ? 1 : 997) {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] as number) ^ 4;
      const { problems, digest } = await verifyBytes(bytes);
      expect(digest).not.toBe(sound.digest);
      if (at >= 10) expect(problems, `byte ${at}`).not.toEqual([]);
    }
    expect((await verifyBytes(whole.subarray(0, -1))).problems).not.toEqual([]);
    expect((await verifyBytes(Buffer.concat([whole, Buffer.from('more')]))).problems).not.toEqual([]);
    expect((await verifyBytes(Buffer.concat([whole, whole]))).problems).not.toEqual([]);
  });
});

describe('the commands', () => {
  async function run(...words: string[]): Promise<{ lines: string[]; code: string | number | undefined }> {
    const lines: string[] = [];
    const program = new Command().exitOverride();
    addLedgerCommands(program, {
      withDatabase: (work) => work(db, undefined),
      withOwner: (work) => work({ db, url }),
      confirm: async () => false,
      gatherHook: (hook) => hook.gather([]),
      say: (line) => void lines.push(line),
    });
    const before = process.exitCode;
    process.exitCode = 0;
    try {
      await program.parseAsync(['node', 'paywright', 'ledger', ...words]);
      return { lines, code: process.exitCode };
    } finally {
      process.exitCode = before;
    }
  }

  it('list the months with their sizes, and the archived ones with their digests', async () => {
    const { lines } = await run('months');
    const { digest } = await verifyArchive(fileOf('first'));
    expect(lines[0]).toMatch(/^first +the beginning to \d{4}-\d\d-\d\d +archived at .*, \d+ postings, SHA-256 /);
    expect(lines[0]).toContain(digest);
    expect(lines[2]).toMatch(/^third +\S+ to \S+ +(about \d+ postings|postings not counted yet), \d+\.\d MB$/);
  });

  it('verify the ledger and a file', async () => {
    expect(await run('verify')).toMatchObject({ lines: [expect.stringMatching(/^The ledger is sound: /)], code: 0 });
    const { digest } = await verifyArchive(fileOf('second'));
    expect((await run('verify-archive', fileOf('second'), '--digest', digest)).code).toBe(0);
    const { lines, code } = await run('verify-archive', fileOf('second'), '--digest', 'another');
    expect({ lines, code }).toEqual({ lines: [`The file has the SHA-256 ${digest}, not another.`], code: 1 });
  });

  it('ask before they archive', async () => {
    await expect(run('archive', 'third', '--to', fileOf('third'))).rejects.toThrow('Nothing was changed.');
    await expect(run('archive', 'third', '--to', fileOf('third'), '--yes')).rejects.toThrow('third is one of the last');
  });
});
