import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { onlyRow, type Transaction } from '../../src/kernel/db/database.ts';
import { createLogger } from '../../src/kernel/log/logger.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { amountOf } from '../../src/money/amount.ts';
import { changeStamp, createBudget, type NewBudget } from '../support/budgets.ts';
import { useDatabase } from '../support/database.ts';
import { createOwners, deposit, fund, transfer } from '../support/ledger.ts';
import { windowOf } from './budget-model.ts';

/** `BUDGET_HISTORIES=100000 npm test -- test/invariants/budget-windows.test.ts` tries many more. */
const histories = Number(process.env.BUDGET_HISTORIES ?? 150);

const { db } = useDatabase();
const ledger = createLedger({ db, logger: createLogger('silent') });

type Owner = { readonly id: bigint; readonly keyId: string };
let ada: Owner;
let bob: Owner;
let stamp: bigint;

/** The posting function asks this clock instead of the machine's, in a transaction that looks here first. */
beforeAll(async () => {
  await db.query(`CREATE SCHEMA told_time;
    CREATE FUNCTION told_time.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
      RETURN current_setting('told.now')::timestamptz`);
  [ada, bob] = (await createOwners(db, 2)) as [Owner, Owner];
  await fund(ledger, [ada], 10n ** 12n);
  await ledger.post(transfer(ada.id, bob.id, 100n));
  stamp = await changeStamp(db, ada.id);
});
afterAll(() => ledger.stop());

const hour = 3_600_000;
const day = 24 * hour;

/** Moments at which windows end, and at which clocks are changed: some at midnight, so that a day has no first hour or has it twice. */
const turns: readonly (readonly [string, string])[] = [
  ['Europe/Berlin', '2025-03-30T01:00:00Z'],
  ['Europe/Berlin', '2025-10-26T01:00:00Z'],
  ['America/New_York', '2025-03-09T07:00:00Z'],
  ['America/New_York', '2025-11-02T06:00:00Z'],
  ['Asia/Beirut', '2025-03-29T22:00:00Z'],
  ['America/Havana', '2025-11-02T05:00:00Z'],
  ['Australia/Lord_Howe', '2025-04-05T15:00:00Z'],
  ['UTC', '2025-02-28T23:59:59.999Z'],
  ['UTC', '2024-02-29T23:59:59.999Z'],
  ['Pacific/Kiritimati', '2025-12-31T10:00:00Z'],
  ['America/Los_Angeles', '2026-01-01T08:00:00Z'],
  ['Asia/Kolkata', '2025-06-29T18:30:00Z'],
];

const budget = fc.oneof(
  fc.record({
    span: fc.constantFrom('once' as const, 'day' as const, 'week' as const, 'month' as const),
    seconds: fc.constant(undefined),
  }),
  fc.record({
    span: fc.constant('rolling' as const),
    seconds: fc.constantFrom(60, 61, 3_600, 86_399, 86_400, 31_536_000),
  }),
);

const pause = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 3 }) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 3 * hour }) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 9 * day }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 40 * day }) },
  // The clock steps back.
  { weight: 1, arbitrary: fc.integer({ min: -2 * day, max: -1 }) },
);

const step = fc.record({
  pause,
  /** Of the window of a rolling budget, so that its ends are met to the millisecond. */
  sixtieths: fc.option(fc.tuple(fc.constantFrom(1, 30, 59, 60, 60, 60, 61, 61, 62), fc.constantFrom(-1, 0, 1)), {
    nil: undefined,
    freq: 2,
  }),
  what: fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({ kind: fc.constant('spend' as const), amount: fc.constantFrom(1n, 7n, 30n, 50n, 100n) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('return' as const),
        which: fc.nat(20),
        part: fc.constantFrom(1n, 7n, 100n),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('limit' as const), most: fc.constantFrom(0n, 20n, 100n, 200n) }),
    },
  ),
});

const history = fc.record({
  budget,
  turn: fc.constantFrom(...turns),
  before: fc.integer({ min: 0, max: 2 * hour }),
  steps: fc.array(step, { minLength: 1, maxLength: 25 }),
});

/** Histories that once were wrong. */
const found: [Parameters<Parameters<typeof history.map>[0]>[0]][] = [
  // The window ends between two milliseconds.
  [
    {
      budget: { span: 'rolling', seconds: 61 },
      turn: ['UTC', '2024-02-29T23:59:59.999Z'],
      before: 6_835_584,
      steps: [{ pause: 10, sixtieths: [30, 1], what: { kind: 'spend', amount: 50n } }],
    },
  ],
];

class Undo extends Error {}

/** Each history is undone, so that the next one finds the same ledger. */
async function inPast(work: (tx: Transaction) => Promise<void>): Promise<void> {
  const undo = new Undo();
  await db
    .transaction(async (tx) => {
      await tx.query('SET LOCAL search_path = told_time, pg_catalog, public');
      await work(tx);
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
}

interface Spent {
  /** The latest moment that the budget had seen by then. */
  readonly at: number;
  readonly id: string;
  readonly amount: bigint;
  left: bigint;
}

it('agrees with a model that knows only calendars and the promise of rolling windows', {
  timeout: 3_600_000,
}, async () => {
  let [allowed, refused, returned] = [0, 0, 0];
  await fc.assert(
    fc.asyncProperty(history, async ({ budget: { span, seconds }, turn: [timeZone, at], before, steps }) => {
      await inPast(async (tx) => {
        let now = Date.parse(at) - before;
        let most = 100n;
        const kind: NewBudget = { most, span, timeZone, ...(seconds !== undefined && { seconds }) };
        const id = await createBudget(tx, ada, kind);
        const spends: Spent[] = [];
        const windowMs = (seconds ?? 0) * 1_000;
        /** What counts for certain, and what may count at most. They differ for a rolling window only, by a sixtieth of it. */
        const counted = (latest: number) => {
          const sum = (counts: (spent: Spent) => boolean) =>
            spends.filter(counts).reduce((total, { left }) => total + left, 0n);
          if (span !== 'rolling') {
            const here = sum((one) => windowOf(span, timeZone, one.at) === windowOf(span, timeZone, latest));
            return { least: here, highest: here };
          }
          return {
            least: sum((one) => one.at + windowMs > latest),
            highest: sum((one) => one.at + windowMs + windowMs / 60 >= latest),
          };
        };

        for (const [index, { pause: pauseMs, sixtieths, what }] of steps.entries()) {
          now +=
            span === 'rolling' && sixtieths !== undefined && pauseMs >= 0
              ? (sixtieths[0] * windowMs) / 60 + sixtieths[1]
              : pauseMs;
          now = Math.min(Math.floor(now), Date.parse('2026-10-31T00:00:00Z'));
          await tx.query(`SELECT set_config('told.now', $1, true)`, [new Date(now).toISOString()]);
          const latest = Math.max(now, ...spends.map((one) => one.at));

          if (what.kind === 'limit') {
            most = what.most;
            await tx.query('UPDATE ledger.budgets SET most = $2 WHERE id = $1', [id, most]);
          } else if (what.kind === 'spend') {
            const { least, highest } = counted(latest);
            const spentOn = `spent ${index}`;
            const [outcome] = await ledger.postWithin(tx, [
              transfer(ada.id, bob.id, what.amount, {
                keyId: ada.keyId,
                spentOn,
                authority: { stamp, spends: [{ budget: id, amount: what.amount }] },
              }),
            ]);
            if (outcome?.outcome === 'posted') {
              allowed++;
              expect(least + what.amount, 'allowed').toBeLessThanOrEqual(most);
              spends.push({ at: latest, id: spentOn, amount: what.amount, left: what.amount });
            } else {
              refused++;
              expect(highest + what.amount, 'refused').toBeGreaterThan(most);
              if (outcome?.outcome !== 'budget_exceeded') throw new Error(`refused with ${outcome?.outcome}`);
              const told = outcome.exceeded[0];
              expect(told?.remaining.atomic).toBeLessThanOrEqual(most > least ? most - least : 0n);
              if (span === 'once') expect(told?.resetsAt).toBeNull();
            }
          } else {
            const spent = spends[what.which % Math.max(1, spends.length)];
            if (spent === undefined) continue;
            returned++;
            const part = what.part > spent.amount ? spent.amount : what.part;
            await ledger.postWithin(tx, [
              {
                ...deposit(ada.id, part, `return ${index}`),
                amount: amountOf('USDC', part),
                returns: { of: spent.id, part, whole: spent.amount },
              },
            ]);
            spent.left = part > spent.left ? 0n : spent.left - part;
          }

          const seen = Math.max(now, ...spends.map((one) => one.at));
          const { least, highest } = counted(seen);
          const state = onlyRow(
            await tx.query<{ spent: string; remaining: string; resetsAt: Date | null }>(
              'SELECT spent, remaining, resets_at FROM ledger.budget_states(ARRAY[$1], $2) WHERE id = $3',
              [ada.keyId, new Date(now), id],
            ),
          );
          expect(BigInt(state.spent)).toBeGreaterThanOrEqual(least);
          expect(BigInt(state.spent)).toBeLessThanOrEqual(highest);
          expect(BigInt(state.remaining)).toBe(most > BigInt(state.spent) ? most - BigInt(state.spent) : 0n);
          const resetsAt = state.resetsAt?.getTime();
          if (span === 'once') expect(resetsAt).toBeUndefined();
          else if (span !== 'rolling' && resetsAt !== undefined) {
            // The first moment of the next window.
            expect(windowOf(span, timeZone, resetsAt)).toBeGreaterThan(windowOf(span, timeZone, seen));
            expect(windowOf(span, timeZone, resetsAt - 1)).toBe(windowOf(span, timeZone, seen));
          } else if (resetsAt !== undefined) {
            expect(
              spends.some(
                (one) => one.left > 0n && resetsAt > one.at + windowMs && resetsAt <= one.at + windowMs * (61 / 60) + 1,
              ),
            ).toBe(true);
          }
        }
      });
    }),
    { numRuns: histories, examples: found, endOnFailure: process.env.BUDGET_HISTORIES !== undefined },
  );
  expect(allowed).toBeGreaterThan(histories);
  expect(refused).toBeGreaterThan(histories / 2);
  expect(returned).toBeGreaterThan(histories / 4);
});
