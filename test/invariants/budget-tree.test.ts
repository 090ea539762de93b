// @module-tag thorough
import { randomInt } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../src/kernel/log/logger.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import type { Client } from '../support/client.ts';
import { accountIdOf, createKey, decimal, limitKey, millionths, type TestKey } from '../support/key-tree.ts';
import { fund } from '../support/ledger.ts';
import { type Service, startService, useService } from '../support/service.ts';

/** `BUDGET_TREE=full npm test -- test/invariants/budget-tree.test.ts`: 256 keys instead of 22, which pay more often. */
const isFull = process.env.BUDGET_TREE === 'full';
/** How many keys each key has below it, level by level: 1 + 5 + 50 + 200, or 1 + 3 + 6 + 12. */
const branches = isFull ? [5, 10, 4] : [3, 2, 2];
const paymentsPerKey = isFull ? 20 : 10;
const limits = { least: 200_000, most: 6_000_000 };
/** Below the 5,000 that an account may make in a day. */
const mostChanges = 4_000;

const roles = { serve: true, work: false };
const service = useService({ roles });
const { db } = service.database;
let second: Service | undefined;
beforeAll(async () => {
  second = await startService(service.database, { roles });
  // Every commit that changes a budget, in the order of its row's locks.
  await db.query(`
    CREATE TABLE budget_history (no bigserial, budget bigint, before numeric, after numeric, most numeric);
    CREATE FUNCTION note_budget() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO budget_history (budget, before, after, most) VALUES (NEW.budget, OLD.spent, NEW.spent, NEW.most);
      RETURN NULL;
    END $$;
    CREATE TRIGGER note_budget AFTER UPDATE ON ledger.budget_counts FOR EACH ROW EXECUTE FUNCTION note_budget()`);
});
afterAll(() => second?.stop());

interface Node extends TestKey {
  readonly parent: Node | undefined;
}

async function growTree(client: Client, root: string): Promise<readonly Node[]> {
  const nodes: Node[] = [];
  let level: (Node | undefined)[] = [undefined];
  for (const count of branches) {
    const next: Node[] = [];
    for (const parent of level.flatMap((one) => Array.from({ length: count }, () => one))) {
      next.push({ ...(await createKey(client, root, parent)), parent });
    }
    nodes.push(...next);
    level = next;
  }
  return nodes;
}

/** For as many keys as there are from this one down, so that every level refuses some payments and allows some. */
function someLimit(nodes: readonly Node[], node: Node): bigint {
  const isBelow = (one: Node | undefined): boolean => one !== undefined && (one === node || isBelow(one.parent));
  return BigInt(randomInt(limits.least, limits.most)) * BigInt(nodes.filter(isBelow).length);
}

test('in a tree of keys that all pay while limits change, no key is ever over its limit', {
  timeout: 3_600_000,
}, async () => {
  const clients = [service.client, (second as Service).client];
  const any = <One>(list: readonly One[]) => list[randomInt(list.length)] as One;
  const [owner, payee] = [await service.client.register(), await service.client.register()];
  const ledger = createLedger({ db, logger: createLogger('silent') });
  await fund(ledger, [{ id: await accountIdOf(db, owner) }], 10n ** 12n);
  await ledger.stop();
  const nodes = await growTree(service.client, owner.key);
  for (const node of nodes) await limitKey(service.client, owner.key, node, someLimit(nodes, node));

  const since = performance.now();
  let [paid, refused, changes] = [0, 0, 0];
  let sum = 0n;
  async function pay(key: string): Promise<void> {
    const amount = BigInt(randomInt(1, 500_000));
    const body = { to: payee.handle, amount: decimal(amount), currency: 'USDC' };
    const headers = { 'idempotency-key': `payment ${randomInt(2 ** 47)}` };
    for (;;) {
      const reply = await any(clients).request('POST', '/agent/transfer', { key, body, headers });
      // The policies changed all the time while it was judged.
      if (reply.status === 503) continue;
      if (reply.status === 200) {
        paid++;
        sum += amount;
      } else {
        expect(reply.body.code).toBe('budget_exceeded');
        expect(millionths(reply.body.remaining)).toBeLessThan(amount);
        refused++;
      }
      return;
    }
  }
  // Changes that follow one another at once would leave no payment the time to be judged.
  const answers = new EventEmitter();
  let over = false;
  const payers = [owner.key, ...nodes.map(({ apiKey }) => apiKey)].map(async (key) => {
    for (let count = 0; count < paymentsPerKey; count++) {
      await pay(key);
      answers.emit('answer');
    }
  });
  const changers = Array.from({ length: 2 }, async () => {
    while (!over && changes < mostChanges) {
      await once(answers, 'answer');
      if (over) return;
      const node = any(nodes);
      await limitKey(any(clients), owner.key, node, someLimit(nodes, node));
      changes++;
    }
  });
  await Promise.all(payers).finally(() => {
    over = true;
    answers.emit('answer');
  });
  await Promise.all(changers);
  expect(Math.min(paid, refused, changes)).toBeGreaterThan(0);

  const { rows: budgets } = await db.query<{ id: bigint; place: string; spent: string }>(
    'SELECT id, place, spent FROM ledger.budget_windows',
  );
  const { rows: history } = await db.query<{ budget: bigint; before: string; after: string; most: string }>(
    'SELECT budget, before, after, most FROM budget_history ORDER BY no',
  );
  // Each commit follows from the one before, and none that spends leaves a budget over its limit.
  const now = new Map(budgets.map(({ id }) => [id, 0n]));
  for (const { budget, before, after, most } of history) {
    expect(BigInt(before)).toBe(now.get(budget));
    if (BigInt(after) > BigInt(before)) expect(BigInt(after)).toBeLessThanOrEqual(BigInt(most));
    now.set(budget, BigInt(after));
  }
  for (const { id, spent } of budgets) expect(BigInt(spent)).toBe(now.get(id));

  // Every payment took the same from its own key and from all keys above, so at no commit have children spent more than their parent.
  const budgetOf = new Map(budgets.map(({ id, place }) => [place, id]));
  const chainOf = (node: Node | undefined): bigint[] =>
    node === undefined ? [] : [budgetOf.get(node.id) as bigint, ...chainOf(node.parent)];
  const inOrder = (ids: readonly bigint[]) => [...ids].map(String).sort().join();
  const chains = new Set(nodes.map((node) => inOrder(chainOf(node))));
  const taken = new Map(budgets.map(({ id }) => [id, 0n]));
  const { rows: spendings } = await db.query<{ budgets: bigint[]; amounts: string[] }>(
    'SELECT budgets, amounts::text[] AS amounts FROM ledger.spendings',
  );
  for (const { budgets: ids, amounts } of spendings) {
    expect(chains).toContain(inOrder(ids));
    expect(new Set(amounts).size).toBe(1);
    for (const id of ids) taken.set(BigInt(id), (taken.get(BigInt(id)) as bigint) + BigInt(amounts[0] as string));
  }
  expect(taken).toEqual(now);
  for (const node of nodes) {
    const below = nodes.filter(({ parent }) => parent === node);
    const together = below.reduce((total, child) => total + (now.get(budgetOf.get(child.id) as bigint) ?? 0n), 0n);
    expect(together).toBeLessThanOrEqual(now.get(budgetOf.get(node.id) as bigint) as bigint);
  }
  const { rows } = await db.query<{ sum: string }>(
    "SELECT sum(amount)::text AS sum FROM ledger.postings WHERE type = 'transfer'",
  );
  expect(BigInt(rows[0]?.sum ?? 0)).toBe(sum);
  expect((await verifyLedger(db)).problems).toEqual([]);
  if (isFull) {
    const seconds = ((performance.now() - since) / 1_000).toFixed(1);
    process.stdout.write(`${JSON.stringify({ seconds, keys: nodes.length + 1, paid, refused, changes })}\n`);
  }
});
