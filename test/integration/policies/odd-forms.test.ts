import { afterAll, beforeAll, expect, it } from 'vitest';
import { toTypeId } from '../../../src/kernel/ids/typeid.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { chainWaiting } from '../../../src/policies/decisions/chain-records.ts';
import {
  budgetBeginning,
  budgetDivider,
  partsOf,
  templateOf,
  writeKeys,
} from '../../../src/policies/decisions/form.ts';
import { canonicalJson, firstHead, recordHash } from '../../../src/policies/decisions/record.ts';
import { changeStamp, createBudget } from '../../support/budgets.ts';
import { useDatabase } from '../../support/database.ts';
import { nextHead, verifyEntry } from '../../support/decisions.ts';
import { createOwners, fund, transfer } from '../../support/ledger.ts';

const { db } = useDatabase();
const ledger = createLedger({ db, logger: createLogger('silent') });
type Owner = { readonly id: bigint; readonly keyId: string };
let ada: Owner;
let bob: Owner;

beforeAll(async () => {
  [ada, bob] = (await createOwners(db, 2)) as [Owner, Owner];
  await fund(ledger, [ada], 10_000_000_000n);
});
afterAll(() => ledger.stop());

const odd = [
  'plain',
  '\u0001\u0002',
  'a\nb\r\u2028\u2029',
  '\ud800 lone \udfff',
  '"quoted" \\ \\u0001',
  '\u0000\u007f\u0085',
  '💶 día',
  'x'.repeat(100_000),
];

it('a text that nobody expects stays within its member, and every chain verifies', async () => {
  const { handle } = (await db.query<{ handle: string }>('SELECT handle FROM accounts WHERE id = $1', [bob.id]))
    .rows[0] as { handle: string };
  const stamp = await changeStamp(db, ada.id);
  const budgets: bigint[] = [];
  for (const most of [1_000_000_000n, 123_456_700n]) {
    budgets.push(await createBudget(db, ada, { most, name: `b${most}` }));
  }
  const written = writeKeys([ada.keyId, ...odd], [{ key: ada.keyId, version: 'v' }]);
  await Promise.all(
    odd.flatMap((text, n) =>
      [[], budgets.slice(0, 1), budgets.toReversed()].map((taken, k) =>
        ledger.post(
          transfer(ada.id, bob.id, 1_000_000n * BigInt(n + 1), {
            keyId: ada.keyId,
            authority: {
              stamp,
              spends: taken.map((budget) => ({ budget, amount: 100_000n * BigInt(n + 1) })),
              decision: {
                payee: k === 1 ? bob.id : undefined,
                refused: () => {},
                template: (spends) => ({
                  ...templateOf({
                    account: text,
                    asset: 'USDC',
                    key: text,
                    operation: 'transfer',
                    written,
                    outcome: 'allow',
                    code: null,
                    count: 1,
                    rule: { index: 0, key: text },
                    budgets: spends
                      .toSorted((one, other) => Number(one.budget - other.budget))
                      .map(({ budget }) => budgetBeginning({ asset: 'USDC', id: `${text}${budget}`, key: text }))
                      .join(budgetDivider),
                  }),
                  keyId: ada.keyId,
                }),
                parts: ({ decisionId, id }) =>
                  partsOf({
                    amount: '1',
                    approval: text,
                    counterparty: k === 1 ? undefined : k === 0 ? null : text,
                    id: toTypeId('dec', decisionId),
                    posting: id,
                  }),
              },
            },
          }),
        ),
      ),
    ),
  );
  expect(await db.transaction(chainWaiting)).toMatchObject({ hasMore: false });
  const { rows } = await db.query<{ record: string; head: Buffer; seq: bigint }>(
    'SELECT record, head, seq FROM policy_decisions WHERE account_id = $1 ORDER BY seq',
    [ada.id],
  );
  expect(rows).toHaveLength(odd.length * 3);
  let head: Buffer = firstHead;
  for (const { record, head: kept, seq } of rows) {
    const parsed = JSON.parse(record);
    expect(canonicalJson(parsed)).toBe(record);
    head = nextHead(head, recordHash(record));
    expect(kept.equals(head)).toBe(true);
    expect(odd).toContain(parsed.account);
    expect([null, handle, parsed.account]).toContain(parsed.counterparty);
    expect(parsed.seq).toBe(String(seq));
    for (const [index, budget] of parsed.budgets.entries()) {
      expect(budget.id).toBe(`${parsed.account}${budgets[index]}`);
      for (const text of [budget.remainingAfter, budget.remainingBefore, budget.taken])
        expect(text).toMatch(/^(0|[1-9]\d*)(\.\d*[1-9])?$/);
    }
  }
  expect(typeof verifyEntry).toBe('function');
});
