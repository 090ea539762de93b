import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { features } from '../../../src/app/features.ts';
import { sealedOf } from '../../../src/app/listed-feature.ts';
import type { Database } from '../../../src/kernel/db/database.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { holdSecret } from '../../../src/kernel/secrets/hold-secret.ts';
import { type GivenSecrets, type OpenedSecrets, openSecrets } from '../../../src/kernel/secrets/open-secrets.ts';
import { rotateSecret } from '../../../src/kernel/secrets/rotate-secret.ts';
import { createSecrets, fingerprintOf, type SealPurpose } from '../../../src/kernel/secrets/secrets.ts';
import { useDatabase } from '../../support/database.ts';

const { db, url } = useDatabase();
const logger = createLogger('silent');
const sealed = sealedOf(features);
const [first, second, third] = ['1', '2', '3'].map((digit) => digit.repeat(32)) as [string, string, string];

const processes: OpenedSecrets[] = [];
afterEach(async () => {
  for (const opened of processes.splice(0)) await opened.close();
  await empty();
});

async function empty(): Promise<void> {
  for (const table of [
    'operator_secrets',
    'wallet_seeds',
    'agent_keys',
    'merchants',
    'merchant_claims',
    'order_secrets',
    'totp_secrets',
    'accounts',
  ]) {
    await db.query(`DELETE FROM ${table}`);
  }
}

/** As a process does that is started with these. */
async function start(given: GivenSecrets): Promise<OpenedSecrets> {
  const opened = await openSecrets({ db, url, logger, given, sealed });
  processes.push(opened);
  return opened;
}

const rotate = (old: string, fresh: string, on: Database = db, say: (line: string) => void = () => {}) =>
  rotateSecret({ db: on, url, old, fresh, sealed, say });

const kept: Readonly<Partial<Record<SealPurpose, number>>> = {
  'wallet-seed': 2,
  'agent-keys': 1,
  'totp-secrets': 1,
  'merchant-orders': 5,
};

/** Something of several kinds, sealed with this secret. */
async function sealSome(secret: string): Promise<void> {
  const { seal } = createSecrets(secret);
  for (const text of ['seed 1', 'seed 2']) {
    await db.query('INSERT INTO wallet_seeds (sealed) VALUES ($1)', [seal('wallet-seed', text)]);
  }
  await db.query("INSERT INTO agent_keys (name, sealed) VALUES ('requests', $1)", [seal('agent-keys', 'agent key')]);
  const { rows } = await db.query<{ id: bigint }>(
    `INSERT INTO accounts (handle, email, name, password_hash) VALUES ('PA-AAAAAAAA', 'a@example.com', 'Ada', 'x')
     RETURNING id`,
  );
  await db.query('INSERT INTO totp_secrets (account_id, sealed) VALUES ($1, $2)', [
    rows[0]?.id,
    seal('totp-secrets', 'an authenticator app'),
  ]);
  for (const domain of ['a.example', 'b.example']) {
    await db.query(
      `INSERT INTO merchants (domain, state, enabled_by, sealed_orders_secret) VALUES ($1, 'enabled', 'operator', $2)`,
      [domain, seal('merchant-orders', `orders of ${domain}`)],
    );
    await db.query(
      'INSERT INTO merchant_claims (domain, account_id, token, sealed_orders_secret) VALUES ($1, $2, $3, $4)',
      [domain, rows[0]?.id, 't'.repeat(32), seal('merchant-orders', `claim of ${domain}`)],
    );
  }
  await db.query('ALTER TABLE order_secrets DROP CONSTRAINT IF EXISTS order_secrets_order_id_fkey');
  await db.query("INSERT INTO order_secrets (order_id, sealed) VALUES ('ord_1', $1)", [
    seal('merchant-orders', 'an open order'),
  ]);
}

/** How many there are of each kind that this secret opens, whatever they say. */
async function openable(secret: string): Promise<Partial<Record<SealPurpose, number>>> {
  const { open } = createSecrets(secret);
  const counts: Partial<Record<SealPurpose, number>> = {};
  for (const { purpose, columns } of sealed) {
    if (purpose === 'hash-keys') continue;
    for (const { table, column } of columns) {
      const { rows } = await db.query<{ sealed: Buffer }>(`SELECT ${column} AS sealed FROM ${table}`);
      for (const row of rows) {
        try {
          open(purpose, row.sealed);
          counts[purpose] = (counts[purpose] ?? 0) + 1;
        } catch {
          // Sealed with another one.
        }
      }
    }
  }
  return counts;
}

/** Fails from one of its statements on, as a process does that is ended there. */
function endingAt(statement: number): Database {
  let asked = 0;
  const count = () => {
    if (++asked >= statement) throw new Error('ended here');
  };
  return {
    ...db,
    async query(text, values) {
      count();
      return db.query(text, values);
    },
    transaction: (work, options) =>
      db.transaction(
        (tx) =>
          work({
            inTransaction: true,
            async query(text, values) {
              count();
              return tx.query(text, values);
            },
          }),
        options,
      ),
  };
}

describe('a new secret', () => {
  test('seals everything again, and is enough from then on', async () => {
    await sealSome(first);
    await (await start({ current: first })).close();
    const said: string[] = [];
    await rotate(first, second, db, (line) => said.push(line));
    expect(await openable(second)).toEqual(kept);
    expect(await openable(first)).toEqual({});
    expect(said).toContain('merchant-orders: 5 sealed with the new secret.');
    const { secrets } = await start({ current: second });
    const { rows } = await db.query<{ sealed: Buffer }>('SELECT sealed FROM wallet_seeds ORDER BY id');
    expect(rows.map((row) => secrets.open('wallet-seed', row.sealed))).toEqual(['seed 1', 'seed 2']);
  });

  test('recognises what the old one has hashed, and what the one before that has', async () => {
    await (await start({ current: first })).close();
    await rotate(first, second);
    await rotate(second, third);
    const { secrets } = await start({ current: third });
    const hashed = [third, second, first].map((secret) => createSecrets(secret).hash('api-keys', 'pa_live_x'));
    expect(secrets.hashes('api-keys', 'pa_live_x')).toEqual(hashed);
    expect(secrets.hash('api-keys', 'pa_live_x')).toEqual(hashed[0]);
  });

  test('may be ended anywhere and gone on with', { tags: ['matrix'] }, async () => {
    let ended = 0;
    for (let statement = 1; ; statement++) {
      await empty();
      await sealSome(first);
      await db.query('INSERT INTO operator_secrets (fingerprint) VALUES ($1)', [fingerprintOf(first)]);
      const outcome = await rotate(first, second, endingAt(statement)).then(
        () => 'done' as const,
        (error: Error) => error.message,
      );
      if (outcome === 'done') break;
      expect(outcome).toBe('ended here');
      ended++;
      // A service that has both goes on meanwhile, whatever is sealed with which.
      const both = await start({ current: second, old: first });
      const { rows } = await db.query<{ sealed: Buffer }>('SELECT sealed FROM wallet_seeds');
      for (const row of rows) expect(both.secrets.open('wallet-seed', row.sealed)).toMatch(/^seed/);
      await rotate(first, second);
      await both.close();
      expect(await openable(second)).toEqual(kept);
      await (await start({ current: second })).close();
    }
    expect(ended).toBeGreaterThan(15);
  });

  test('waits until the one before it has taken its place to the end', async () => {
    await sealSome(first);
    await (await start({ current: first })).close();
    await expect(rotate(first, second, endingAt(12))).rejects.toThrow('ended here');
    await expect(rotate(second, third)).rejects.toThrow(
      'The previous rotation, to PAYWRIGHT_SECRET_OLD, is not complete',
    );
    await rotate(first, second);
    await rotate(second, third);
    expect(await openable(third)).toEqual(kept);
    await start({ current: third });
  });

  test('does not take what somebody has changed meanwhile', async () => {
    await sealSome(first);
    await (await start({ current: first })).close();
    const { seal } = createSecrets(second);
    let changed = false;
    const meddling: Database = {
      ...db,
      async query(text, values) {
        if (text.startsWith('UPDATE agent_keys') && !changed) {
          changed = true;
          await db.query('UPDATE agent_keys SET sealed = $1', [seal('agent-keys', 'a newer key')]);
        }
        return db.query(text, values);
      },
    };
    await rotate(first, second, meddling);
    const { rows } = await db.query<{ sealed: Buffer }>('SELECT sealed FROM agent_keys');
    expect(createSecrets(second).open('agent-keys', rows[0]?.sealed as Buffer)).toBe('a newer key');
  });
});

describe('with several processes', () => {
  test('nothing is replaced while one of them seals with the old secret', async () => {
    await sealSome(first);
    const plain = await start({ current: first });
    const prepared = await start({ current: first, next: second });
    await expect(rotate(first, second)).rejects.toThrow(/^2 processes still seal with the old secret/);
    await plain.close();
    const moved = await start({ current: second, old: first });
    await expect(rotate(first, second)).rejects.toThrow(/^One process still seals with the old secret/);
    // Those in between understand one another.
    expect(prepared.secrets.open('messages', moved.secrets.seal('messages', 'hello'))).toBe('hello');
    expect(moved.secrets.open('messages', prepared.secrets.seal('messages', 'hello'))).toBe('hello');
    expect(prepared.secrets.hashes('api-keys', 'k')).toContainEqual(moved.secrets.hash('api-keys', 'k'));
    expect(moved.secrets.hashes('api-keys', 'k')).toContainEqual(prepared.secrets.hash('api-keys', 'k'));
    expect(await openable(first)).toEqual(kept);
    await prepared.close();
    await rotate(first, second);
    expect(await openable(second)).toEqual(kept);
  });

  test('a process that lost its connection while its secret was replaced seals nothing any more', async () => {
    const late = await start({ current: first });
    const { rows } = await db.query<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'paywright-secret' AND datname = current_database()",
    );
    expect(rows).toHaveLength(1);
    await db.query('UPDATE operator_secrets SET retired_at = now(), resealed_at = now(), sealed_hash_keys = $1', [
      Buffer.alloc(32),
    ]);
    expect(late.secrets.seal('messages', 'x')).toBeInstanceOf(Buffer);
    await db.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
    await expect
      .poll(() => {
        try {
          return late.secrets.seal('messages', 'x').length;
        } catch (error) {
          return (error as Error).message;
        }
      })
      .toContain('was replaced');
  });
});

test('a process that stops while it finds its connection again leaves none behind', async () => {
  await start({ current: first });
  for (let ms = 0; ms < 24; ms += 2) {
    const held = await holdSecret({ url, logger, fingerprint: fingerprintOf(first) });
    await db.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'paywright-secret' AND datname = current_database()",
    );
    await sleep(ms);
    await held.close();
  }
  for (const opened of processes.splice(0)) await opened.close();
  await expect
    .poll(async () => {
      const { rows } = await db.query(
        "SELECT FROM pg_stat_activity WHERE application_name = 'paywright-secret' AND datname = current_database()",
      );
      return rows.length;
    })
    .toBe(0);
});

describe('a secret that is not the one', () => {
  test('the old one alone is refused afterwards', async () => {
    await (await start({ current: first })).close();
    await rotate(first, second);
    await expect(start({ current: first })).rejects.toThrow(/^PAYWRIGHT_SECRET was replaced on /);
    await expect(start({ current: first, next: second })).rejects.toThrow(/^PAYWRIGHT_SECRET was replaced/);
    await expect(rotate(second, first)).rejects.toThrow('was used before and was replaced');
  });

  test('the new one alone is refused until everything is sealed with it', async () => {
    await sealSome(first);
    await (await start({ current: first })).close();
    await expect(start({ current: second })).rejects.toThrow(
      'PAYWRIGHT_SECRET is not the secret of this database. To replace the secret, set PAYWRIGHT_SECRET_OLD to the previous one.',
    );
    await expect(rotate(first, second, endingAt(8))).rejects.toThrow('ended here');
    await expect(start({ current: second })).rejects.toThrow('The rotation to the new secret is not complete');
    await rotate(first, second);
    await start({ current: second });
  });

  test('a wrong one is named on a database of before secrets were written down', async () => {
    await sealSome(first);
    await expect(start({ current: second })).rejects.toThrow('PAYWRIGHT_SECRET is not the secret of this database');
    const { rows } = await db.query('SELECT FROM operator_secrets');
    expect(rows).toEqual([]);
    await start({ current: first });
  });

  test('one that was never used cannot be replaced, and none by itself', async () => {
    await (await start({ current: first })).close();
    await expect(rotate(third, second)).rejects.toThrow('PAYWRIGHT_SECRET_OLD is not the secret');
    await expect(rotate(first, first)).rejects.toThrow('are the same secret');
  });
});

test('every column that looks sealed is declared, with a key by which its rows are told apart', async () => {
  const { rows } = await db.query<{ place: string }>(
    `SELECT table_name || '.' || column_name AS place FROM information_schema.columns
      WHERE table_schema = 'public' AND data_type = 'bytea' AND column_name LIKE '%sealed%' ORDER BY 1`,
  );
  const columns = sealed.flatMap((each) => each.columns);
  expect(columns.map(({ table, column }) => `${table}.${column}`).toSorted()).toEqual(rows.map(({ place }) => place));
  for (const { table, key } of columns) {
    const { rows: unique } = await db.query<{ columns: string[] }>(
      `SELECT array_agg(a.attname::text ORDER BY a.attname) AS columns FROM pg_index i
         JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
        WHERE i.indrelid = $1::regclass AND i.indisprimary GROUP BY i.indexrelid`,
      [table],
    );
    expect(unique).toEqual([{ columns: [...key].toSorted() }]);
  }
});
