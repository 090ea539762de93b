import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, onlyRow, openDatabase } from '../src/kernel/db/database.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import { assetCode } from '../src/ledger/account-id.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import { load, type Server, startServer } from './http.ts';
import { inTurns, type Measured, middle } from './measure.ts';
import { createPeople, type Person } from './people.ts';
import { measurePostingFunction } from './posting-function.ts';

const peopleCount = 10_000;
const quiet = createLogger('silent');

export interface PolicyOptions {
  readonly seconds: number;
  readonly repeats: number;
  readonly say: (line: string) => void;
}

export interface PolicyFigures {
  readonly measured: Record<string, Measured>;
  /** Records of decisions that are chained per second when nobody pays. While payments wait, only one batch a second is. */
  readonly chainedPerSecond: number;
}

/** Transfers of people without policies, and of people whose keys are on the third level, with four budgets and twenty rules. */
export async function measurePolicies(
  createDatabase: (name: string) => Promise<string>,
  { seconds, repeats, say }: PolicyOptions,
): Promise<PolicyFigures> {
  say('Preparing …');
  const url = await createDatabase('policies');
  const db = openDatabase({ url, poolSize: 3, logger: quiet });
  const everybody = await createPeople(db, peopleCount);
  const free = everybody.slice(0, peopleCount / 2);
  const bound = everybody.slice(peopleCount / 2);
  const budgetsOf = await givePolicies(db, bound);
  const server: Server = await startServer(url, { BENCH_ROOTS: 'hourly' });
  try {
    const pay = async (people: readonly Person[], connections: number) => {
      const paid = await load(server, { connections, seconds, path: '/api/agent/transfer', people });
      // What is chained later is not to slow down what is measured next.
      rates.push(await drain(db));
      return paid;
    };
    const rates: number[] = [];
    await load(server, {
      connections: 64,
      seconds: 0,
      path: '/api/agent/transfer',
      people: everybody,
      everybodyOnce: true,
    });
    const authorityOf = (senderId: bigint) => ({
      stamp: 1n,
      spends: (budgetsOf.get(senderId) ?? []).map((budget) => ({ budget, amount: 50_000_000n })),
    });
    const post = (people: readonly Person[], more: object) =>
      measurePostingFunction({ url, owners: people.map(({ id }) => id), batchSize: 200, seconds, ...more });
    const measured = await inTurns(
      { repeats, say },
      {
        'posting function, 200 at once, no policy': () => post(free, {}),
        'posting function, 200 at once, four budgets': () => post(bound, { authorityOf }),
        'HTTP, 256 connections, no policy': () => pay(free, 256),
        'HTTP, 256 connections, three levels, four budgets, 20 rules': () => pay(bound, 256),
      },
    );
    const { problems } = await verifyLedger(db);
    if (problems.length > 0) throw new Error(`the measured ledger is not sound: ${problems.join(' ')}`);
    return { measured, chainedPerSecond: Math.round(middle(rates.filter((rate) => rate > 0))) };
  } finally {
    await server.stop();
    await db.close();
  }
}

/** Waits until every record is chained. Returns how many were per second, 0 when hardly any waited. */
async function drain(db: Database): Promise<number> {
  const waiting = async () =>
    Number(onlyRow(await db.query<{ count: bigint }>('SELECT count(*) FROM decisions_waiting')).count);
  const before = await waiting();
  const since = performance.now();
  while ((await waiting()) > 0) await sleep(100);
  return before < 1_000 ? 0 : (before / (performance.now() - since)) * 1_000;
}

/** None of them is ever reached, and the last rule of each allows the transfer. */
const windows = [
  { name: 'day', span: 'day', seconds: null },
  { name: 'month', span: 'month', seconds: null },
  { name: 'hour', span: 'rolling', seconds: 3_600 },
  { name: 'week', span: 'week', seconds: null },
] as const;

const most = 10n ** 15n;

function rules(count: number): object[] {
  const denied = Array.from({ length: count - 1 }, (_, index) => ({
    effect: 'deny',
    operation: ['swap', 'transfer'],
    amount: { gt: 1_000_000 + index },
  }));
  return [...denied, { effect: 'allow', operation: ['transfer'], asset: ['USDC'], amount: { lte: 100_000 } }];
}

/** A root, a key below it and the person's own key below that, straight into the tables. Returns the budgets of each person. */
async function givePolicies(db: Database, people: readonly Person[]): Promise<ReadonlyMap<bigint, readonly bigint[]>> {
  const ids = people.map(({ id }) => id);
  await db.query(
    `INSERT INTO api_keys (id, account_id, key_hash, name, last4, place, path)
     SELECT 'key_' || level || id, id, decode(md5(level || id), 'hex'), 'above', 'last', 'key_' || level || id,
            CASE level WHEN 'root' THEN ARRAY['key_root' || id] ELSE ARRAY['key_root' || id, 'key_below' || id] END
       FROM unnest($1::bigint[]) id, unnest(ARRAY['root', 'below']) level`,
    [ids],
  );
  await db.query(
    `UPDATE api_keys SET path = ARRAY['key_root' || account_id, 'key_below' || account_id, id]
      WHERE id = ANY (ARRAY(SELECT 'key_' || id FROM unnest($1::bigint[]) id))`,
    [ids],
  );
  await db.query('INSERT INTO key_stamps SELECT id, 1 FROM unnest($1::bigint[]) id', [ids]);
  const places = [
    { before: 'key_root', rules: 7, budgets: [windows[1]] },
    { before: 'key_below', rules: 7, budgets: [windows[3]] },
    { before: 'key_', rules: 6, budgets: [windows[0], windows[2]] },
  ];
  for (const { before, rules: count, budgets } of places) {
    const policy = {
      rules: rules(count),
      budgets: budgets.map(({ name, span, seconds }) => ({
        id: name,
        amount: Number(most / 1_000_000n),
        currency: 'USDC',
        window: span,
        ...(span === 'rolling' ? { seconds } : { timeZone: 'UTC' }),
        onExceed: 'deny',
      })),
    };
    await db.query(
      `INSERT INTO key_policies (place, account_id, policy, version) SELECT $2 || id, id, $3, 'bench' FROM unnest($1::bigint[]) id`,
      [ids, before, JSON.stringify(policy)],
    );
    for (const { name, span, seconds } of budgets) {
      await db.query(
        `INSERT INTO ledger.budgets (account_id, place, name, currency, span, seconds, most)
         SELECT id, $2 || id, $3, $4, $5, $6, $7 FROM unnest($1::bigint[]) id`,
        [ids, before, name, assetCode('USDC'), span, seconds, most],
      );
    }
  }
  await db.query('VACUUM ANALYZE');
  const { rows } = await db.query<{ accountId: bigint; budgets: bigint[] }>(
    'SELECT account_id, array_agg(id ORDER BY id DESC) AS budgets FROM ledger.budgets GROUP BY account_id',
  );
  return new Map(rows.map(({ accountId, budgets }) => [accountId, budgets.map(BigInt)]));
}
