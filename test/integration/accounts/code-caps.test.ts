import { describe, expect, test } from 'vitest';
import { askReset, mailResetHandler } from '../../../src/accounts/passwords/mail-reset.ts';
import { type CodeLimits, createVerification } from '../../../src/accounts/verification.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { onlyRow } from '../../../src/kernel/db/database.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { createMemoryLimiter } from '../../../src/kernel/rate-limit/memory-limiter.ts';
import { createSecrets } from '../../../src/kernel/secrets/secrets.ts';
import { useDatabase } from '../../support/database.ts';

const { db } = useDatabase();
const secrets = createSecrets('a secret that is only good for tests of codes');
const none = { perNetwork: 0, perTarget: 0, perCountry: 0, inAll: 0 };

/** Each is a process of its own: it shares the database with the others, and nothing in memory. */
function startProcess(limits: Partial<CodeLimits>) {
  const log: string[] = [];
  const verification = createVerification({
    db,
    secrets,
    limiter: createMemoryLimiter(systemClock),
    logger: createLogger('warn', { write: (line: string) => void log.push(line) }),
    codeLimits: { mails: none, sms: none, ...limits },
    autoVerify: false,
  });
  return { verification, log };
}

let accounts = 0;
async function newAccount({ verified = true } = {}): Promise<{ accountId: bigint; email: string }> {
  const email = `user-${++accounts}@example.com`;
  const handle = `PA-${String(accounts).padStart(8, '0')}`;
  const { id } = onlyRow(
    await db.query<{ id: bigint }>(
      `INSERT INTO accounts (handle, email, email_verified_at, name, password_hash)
       VALUES ($1, $2, CASE WHEN $3 THEN now() END, 'Ada', '-') RETURNING id`,
      [handle, email, verified],
    ),
  );
  return { accountId: id, email };
}

type Process = ReturnType<typeof startProcess>;

/** From an account and, unless said otherwise, a network of its own. */
async function text({ verification }: Process, phone: string, ip = `203.0.113.${accounts % 250}`): Promise<string> {
  const { accountId } = await newAccount();
  return db
    .transaction((tx) => verification.begin(tx, { accountId, kind: 'phone', target: phone, by: { address: ip } }))
    .then(
      () => 'sent',
      (error) => `${error.status} ${/codes sent (.*) is reached/.exec(error.message)?.[1] ?? error.message}`,
    );
}

async function messagesTo(recipient: string): Promise<number> {
  const { rowCount } = await db.query('SELECT FROM messages WHERE recipient = $1', [recipient]);
  return rowCount ?? 0;
}

const forget = () => db.query('DELETE FROM message_counts');

describe('codes by SMS', () => {
  test('are capped by number, over processes, and are sent again on another day', async () => {
    const limits = { sms: { ...none, perTarget: 2 } };
    const [first, second] = [startProcess(limits), startProcess(limits)];
    const sent = [];
    for (const process of [first, second, first, second]) sent.push(await text(process, '+14155550101'));
    expect(sent).toEqual(['sent', 'sent', '429 to this number', '429 to this number']);
    expect(await messagesTo('+14155550101')).toBe(2);
    expect(await text(first, '+14155550102')).toBe('sent');
    await db.query('UPDATE message_counts SET day = day - 1');
    expect(await text(second, '+14155550101')).toBe('sent');
  });

  test('are capped by network: its neighbours in a /64 are one, a /48 has four times as much', async () => {
    await forget();
    const process = startProcess({ sms: { ...none, perNetwork: 1 } });
    const from = async (ip: string) => text(process, `+1415555${1000 + accounts}`, ip);
    expect(await from('2001:db8:1:1::1')).toBe('sent');
    expect(await from('2001:db8:1:1::2')).toBe('429 to your network');
    for (const n of [2, 3, 4]) expect(await from(`2001:db8:1:${n}::1`)).toBe('sent');
    expect(await from('2001:db8:1:5::1')).toBe('429 to your network');
    expect(await from('2001:db8:2:1::1')).toBe('sent');
  });

  test('are capped by country, whose neighbours with the same calling code are not it, and the operator is told once', async () => {
    await forget();
    const process = startProcess({ sms: { ...none, perCountry: 2 } });
    const outcomes = [];
    for (const phone of [
      '+14155550101',
      '+12125550102',
      '+12025550103',
      '+12025550104',
      '+16135550105',
      '+442079460958',
    ])
      outcomes.push(await text(process, phone));
    expect(outcomes).toEqual(['sent', 'sent', '429 to this country', '429 to this country', 'sent', 'sent']);
    expect(process.log.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'warn', kind: 'sms', country: 'US', limit: 2 },
    ]);
  });

  test('are capped in all, to the last one however many ask at once, and the operator is told once', async () => {
    await forget();
    const process = startProcess({ sms: { ...none, perCountry: 100, inAll: 3 } });
    const phones = Array.from({ length: 8 }, (_, n) => `+1415555020${n}`);
    const outcomes = await Promise.all(phones.map((phone) => text(process, phone)));
    expect(outcomes.filter((outcome) => outcome === 'sent')).toHaveLength(3);
    expect(outcomes.filter((outcome) => outcome === '429 by this service')).toHaveLength(5);
    expect(process.log).toHaveLength(1);
    // What was refused is counted nowhere.
    const { rows } = await db.query("SELECT count FROM message_counts WHERE scope = 'sms:country:US'");
    expect(rows).toEqual([{ count: 3 }]);
  });

  test('what is undone is not counted', async () => {
    await forget();
    const process = startProcess({ sms: { ...none, perTarget: 1 } });
    const { accountId } = await newAccount();
    const undone = db.transaction(async (tx) => {
      await process.verification.begin(tx, {
        accountId,
        kind: 'phone',
        target: '+14155550301',
        by: { address: '203.0.113.1' },
      });
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    expect(await text(process, '+14155550301')).toBe('sent');
  });
});

describe('codes by mail', () => {
  test('beyond a cap a new account is there all the same, and its code is sent when it is asked for again', async () => {
    await forget();
    const process = startProcess({ mails: { ...none, inAll: 1 } });
    const wanted = (account: { accountId: bigint; email: string }) => ({
      accountId: account.accountId,
      kind: 'email' as const,
      target: account.email,
      by: { address: '203.0.113.1' },
    });
    const [first, second] = [await newAccount({ verified: false }), await newAccount({ verified: false })];
    for (const account of [first, second])
      await db.transaction((tx) => process.verification.beginIfPossible(tx, wanted(account)));
    expect([await messagesTo(first.email), await messagesTo(second.email)]).toEqual([1, 0]);
    const again = () => db.transaction((tx) => process.verification.resend(tx, wanted(second)));
    await expect(again()).rejects.toMatchObject({ status: 429, code: 'too_many_attempts' });
    await db.query('UPDATE message_counts SET day = day - 1');
    await again();
    expect(await messagesTo(second.email)).toBe(1);
  });
});

describe('tokens for a new password', () => {
  const logger = createLogger('silent');
  const waiting = async () => {
    const { rowCount } = await db.query(
      "SELECT FROM graphile_worker.jobs WHERE task_identifier = 'mail-password-reset'",
    );
    return rowCount;
  };

  test('are asked for so often from one network and no more, whether the email is somebody’s or not', async () => {
    await forget();
    const resetLimits = { perNetwork: 2, perMailbox: 3, inAll: 0 };
    const ask = (email: string, ip: string) => askReset({ db, logger, resetLimits }, { email, ip });
    const { email } = await newAccount();
    await ask('nobody@example.com', '198.51.100.7');
    await ask(email, '198.51.100.7');
    for (const refused of ['nobody@example.com', email]) {
      await expect(ask(refused, '198.51.100.7')).rejects.toMatchObject({ status: 429, code: 'too_many_attempts' });
    }
    await ask(email, '203.0.113.9');
    expect(await waiting()).toBe(3);
  });

  test('go to so many mailboxes a day and no more, unless the operator asks', async () => {
    await forget();
    const { run } = mailResetHandler({
      db,
      secrets,
      logger,
      publicUrl: () => 'https://pay.example.com',
      resetLimits: { perNetwork: 0, perMailbox: 3, inAll: 1 },
    });
    const [first, second] = [await newAccount(), await newAccount({ verified: false })];
    await run({ email: first.email, address: '198.51.100.7' });
    await run({ email: second.email, address: '198.51.100.7' });
    await run({ email: 'nobody@example.com', address: '198.51.100.7' });
    expect([await messagesTo(first.email), await messagesTo(second.email)]).toEqual([1, 0]);
    await run({ email: second.email, operator: 'olga' });
    expect(await messagesTo(second.email)).toBe(1);
    // Nobody has proved that mailbox: what is sent there is not the account's to see.
    const { rows } = await db.query('SELECT account_id FROM messages WHERE recipient = $1', [second.email]);
    expect(rows).toEqual([{ accountId: null }]);
  });
});
