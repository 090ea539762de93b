import { beforeAll, expect, test } from 'vitest';
import type { Database, Transaction } from '../../../src/kernel/db/database.ts';
import { createSecrets } from '../../../src/kernel/secrets/secrets.ts';
import { exportChain } from '../../../src/policies/decisions/prove.ts';
import { firstHead, recordHash } from '../../../src/policies/decisions/record.ts';
import { sealRoot } from '../../../src/policies/decisions/seal-root.ts';
import { useDatabase } from '../../support/database.ts';
import { makeExport, nextHead, verifyDecisions } from '../../support/decisions.ts';

const accounts = 60_000;
const database = useDatabase();

/** The most heads that one statement returned: a database ends transactions that compute for long between two statements. */
let mostAtOnce = 0;

const watched = Object.assign(Object.create(database.db) as Database, {
  transaction: <Result>(work: (tx: Transaction) => Promise<Result>) =>
    database.db.transaction((tx) => {
      const query = async (text: string, values?: readonly unknown[]) => {
        const result = await tx.query(text, values);
        mostAtOnce = Math.max(mostAtOnce, result.rows.length);
        return result;
      };
      return work(Object.assign(Object.create(tx) as Transaction, { query }));
    }),
});

beforeAll(async () => {
  await database.db.query(
    `WITH opened AS (
       INSERT INTO accounts (handle, name, password_hash)
         SELECT 'PA-' || lpad(n::text, 8, '0'), 'Ada', '' FROM generate_series(0, $1::integer - 1) n RETURNING id)
     INSERT INTO decision_heads (account_id, place, salt, seq, head, sealed_seq)
       SELECT id, row_number() OVER (ORDER BY id) - 1, sha256(id::text::bytea), 1, sha256(id::text::bytea), 1 FROM opened`,
    [accounts],
  );
});

/** The first record of the account at a place. */
async function decide(place: number) {
  const { rows } = await database.db.query<{ accountId: bigint; handle: string }>(
    'SELECT h.account_id, a.handle FROM decision_heads h JOIN accounts a ON a.id = h.account_id WHERE h.place = $1',
    [place],
  );
  const [{ accountId, handle } = { accountId: 0n, handle: '' }] = rows;
  const [entry] = makeExport(1).entries;
  const record = JSON.stringify({ ...entry?.record, account: handle });
  const head = nextHead(firstHead, recordHash(record));
  await database.db.query(
    `WITH chained AS (
       INSERT INTO policy_decisions (account_id, seq, id, key_id, outcome, at, record, head)
         VALUES ($1, 1, gen_random_uuid(), 'key_root', 'allow', now(), $2, $3))
     UPDATE decision_heads SET head = $3, sealed_seq = 0 WHERE account_id = $1`,
    [accountId, record, head],
  );
  return { accountId, handle, keyId: 'key_root' } as Parameters<typeof exportChain>[1];
}

test('a root covers many accounts, and sealing it reads them in parts', { timeout: 60_000 }, async () => {
  const places = [0, 999, 1_000, 12_345, accounts - 1];
  const callers: Awaited<ReturnType<typeof decide>>[] = [];
  for (const place of places) callers.push(await decide(place));
  const secrets = createSecrets('a secret that is only good for tests of roots');
  expect(await sealRoot({ db: watched, secrets })).toBe(1n);
  expect(await sealRoot({ db: watched, secrets })).toBeUndefined();
  expect(mostAtOnce).toBe(1_000);
  for (const [index, caller] of callers.entries()) {
    const { head, entries } = await exportChain(database.db, caller);
    for await (const some of entries()) {
      const found = verifyDecisions({ ...head, entries: some });
      expect(found).toMatchObject({ from: 1, to: 1, sealedTo: 1, root: { size: String(accounts) } });
      expect(head.seal?.place).toBe(String(places[index]));
      break;
    }
  }
});
