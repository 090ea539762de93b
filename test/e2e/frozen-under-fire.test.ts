import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { createLogger } from '../../src/kernel/log/logger.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import type { Client, Reply, TestAccount } from '../support/client.ts';
import { useDatabase } from '../support/database.ts';
import { type Instance, startInstances } from '../support/instances.ts';
import { accountIdOf, createKey, limitKey, type TestKey } from '../support/key-tree.ts';
import { fund } from '../support/ledger.ts';

/** `FREEZES=1000 npm test -- test/e2e/frozen-under-fire.test.ts`: so many keys are frozen, and then revoked, while they pay. */
const rounds = Number(process.env.FREEZES ?? 6);
const roundsAtOnce = Math.min(rounds, 4);
const clientsPerKey = 3;

const database = useDatabase();
const { db } = database;

/**
 * The database itself notes a payment that is posted although a freeze, or the end of the keys, is committed. Only keys below the
 * root pay here, and all of them are frozen and revoked together, so the account tells.
 */
const watch = `
  CREATE TABLE posted_too_late (account_id bigint, why text);
  CREATE FUNCTION note_too_late() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO posted_too_late
      SELECT NEW.sender_id, 'frozen' FROM frozen_places f WHERE f.account_id = NEW.sender_id
      UNION ALL
      SELECT NEW.sender_id, 'revoked' FROM api_keys k
       WHERE k.account_id = NEW.sender_id AND k.revoked_at IS NOT NULL AND cardinality(k.path) > 1;
    RETURN NULL;
  END $$;
  CREATE TRIGGER note_too_late AFTER INSERT ON ledger.postings FOR EACH ROW WHEN (NEW.type = 'transfer')
    EXECUTE FUNCTION note_too_late();`;

/** Pays without a pause with both keys on both instances, until it is told to stop. */
function keepPaying(clients: readonly Client[], keys: readonly TestKey[], to: string) {
  let over = false;
  let paid = 0;
  let refused = 0;
  const waiting: { isNow(): boolean; go(): void }[] = [];
  /** A payment that is sent after this was set, and answered before it is set again, must be answered like that. */
  let onlyAnswer: string | undefined;
  const wrong: unknown[] = [];

  function note(expected: string | undefined, { status, body }: Reply): void {
    if (status === 200) paid++;
    else refused++;
    const answer = status === 200 ? 'paid' : body.code;
    const isSure = expected !== undefined && expected === onlyAnswer;
    const allowed = isSure ? [expected] : ['paid', 'key_frozen', 'unauthorized'];
    if (!allowed.includes(answer)) wrong.push({ expected, status, body });
    for (const one of waiting) if (one.isNow()) one.go();
  }

  const work = keys.flatMap(({ apiKey }) =>
    Array.from({ length: clientsPerKey }, async (_, index) => {
      while (!over) {
        const expected = onlyAnswer;
        const client = clients[index % clients.length] as Client;
        note(expected, await client.post('/agent/transfer', { to, amount: 0.01, currency: 'USDC' }, apiKey));
      }
    }),
  );
  const all = Promise.all(work);
  const when = (isNow: () => boolean) =>
    Promise.race([new Promise<void>((go) => waiting.push({ isNow, go })), all.then(() => {})]);

  return {
    wrong,
    paidMore: (count: number, before = paid) => when(() => paid >= before + count),
    refusedMore: (count: number, before = refused) => when(() => refused >= before + count),
    expectOnly(answer: string | undefined) {
      onlyAnswer = answer;
    },
    counts: () => ({ paid, refused }),
    async stop() {
      over = true;
      await all;
    },
  };
}

const postings = async (senderId: bigint) =>
  (await db.query("SELECT FROM ledger.postings WHERE type = 'transfer' AND sender_id = $1", [senderId])).rowCount;

test('after the response of a freeze or a revocation nothing is posted, on any instance', {
  timeout: 3_600_000,
}, async () => {
  const instances = await startInstances(2, database.url);
  const clients = instances.map(({ client }) => client);
  const [main] = instances as [Instance];
  await db.query(watch);
  const payee = await main.client.register();
  const ledger = createLedger({ db, logger: createLogger('silent') });
  const since = performance.now();
  let [paid, refused] = [0, 0];

  /** An account whose agent and the key below that pay, while their owner freezes, unfreezes and revokes. */
  async function round(index: number): Promise<void> {
    const owner: TestAccount = await main.client.register();
    const id = await accountIdOf(db, owner);
    await fund(ledger, [{ id }], 10n ** 9n);
    const agent = await createKey(main.client, owner.key);
    const below = await createKey(main.client, owner.key, agent);
    // A freeze is noticed without any policy as well.
    if (index % 2 === 0) await limitKey(main.client, owner.key, agent, 10n ** 9n);
    const load = keepPaying(clients, [agent, below], payee.handle);
    const ask = async (method: string, verb = '') => {
      const client = clients[randomInt(clients.length)] as Client;
      const reply = await client.request(method, `/account/keys/${agent.id}${verb}`, { key: owner.key });
      expect(reply, `${method} ${verb}`).toMatchObject({ status: 200 });
    };
    /** Many payments are asked for again, and none comes through. */
    const expectSilence = async (answer: string) => {
      load.expectOnly(answer);
      const before = await postings(id);
      await load.refusedMore(6 * clientsPerKey);
      expect(await postings(id), answer).toBe(before);
    };

    await load.paidMore(randomInt(1, 30));
    await ask('POST', '/freeze');
    await expectSilence('key_frozen');
    load.expectOnly(undefined);
    await ask('POST', '/unfreeze');
    load.expectOnly('paid');
    await load.paidMore(randomInt(1, 30));
    load.expectOnly(undefined);
    await ask('DELETE');
    await expectSilence('unauthorized');
    await load.stop();
    expect(load.wrong).toEqual([]);
    const counts = load.counts();
    expect(await postings(id)).toBe(counts.paid);
    paid += counts.paid;
    refused += counts.refused;
  }

  const left = Array.from({ length: rounds }, (_, index) => index).values();
  await Promise.all(
    Array.from({ length: roundsAtOnce }, async () => {
      for (const index of left) await round(index);
    }),
  );
  await ledger.stop();
  expect((await db.query('SELECT * FROM posted_too_late')).rows).toEqual([]);
  expect((await verifyLedger(db)).problems).toEqual([]);
  if (process.env.FREEZES !== undefined) {
    const seconds = ((performance.now() - since) / 1_000).toFixed(1);
    process.stdout.write(`${JSON.stringify({ seconds, rounds, paid, refused })}\n`);
  }
});
