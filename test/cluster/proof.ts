import { createPublicClient, http, parseAbi, parseUnits } from 'viem';
import { features } from '../../src/app/features.ts';
import { type Database, onlyRow } from '../../src/kernel/db/database.ts';
import { fromTypeId } from '../../src/kernel/ids/typeid.ts';
import { listOpenSagas } from '../../src/kernel/sagas/list-sagas.ts';
import { userAccount } from '../../src/ledger/account-id.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { createClient } from '../support/client.ts';
import { until } from '../support/until.ts';
import type { Acknowledged } from './load.ts';
import type { Probe } from './probe.ts';
import { overlapsOf } from './probe.ts';

/** What an operation leaves behind. */
interface Row {
  readonly id: string;
  /** What it was opened with. */
  readonly amount: bigint;
  /** What it has taken from the account in the end, in USDC on the home chain. */
  readonly cost: bigint;
  /** A call whose process was killed before the seller saw the payment is undone, and its caller is told that nothing was paid. */
  readonly isUndone: boolean;
}

/** The rows of one account. */
const rowsOf: Readonly<Record<string, string>> = {
  transfer: `SELECT replace(id::text, '-', '') AS id, amount, amount AS cost, false AS is_undone
    FROM ledger.postings WHERE type = 'transfer' AND sender_id = $1`,
  funding: `SELECT replace(id::text, '-', '') AS id, amount, -amount AS cost, false AS is_undone
    FROM ledger.postings WHERE type = 'deposit' AND recipient_id = $1`,
  withdrawal: `SELECT id, gross AS amount, CASE WHEN status = 'complete' THEN gross ELSE 0 END AS cost, false AS is_undone
    FROM withdrawals WHERE account_id = $1`,
  swap: `SELECT id, amount, false AS is_undone,
      CASE WHEN status = 'completed' THEN amount - unspent WHEN gas_due THEN gas_fee ELSE 0 END AS cost
    FROM swaps WHERE account_id = $1`,
  bridge: `SELECT id, amount + gas_fee AS amount, false AS is_undone,
      CASE WHEN status = 'completed' THEN amount + gas_fee ELSE 0 END AS cost
    FROM bridges WHERE account_id = $1`,
  order: `SELECT id, amount, CASE WHEN status = 'completed' THEN charged + charged_fee ELSE 0 END AS cost, false AS is_undone
    FROM orders WHERE account_id = $1`,
  call: `SELECT id, amount + fee AS amount, status = 'returned' AS is_undone,
      CASE WHEN status = 'paid' THEN amount ELSE 0 END + fee
        - coalesce((SELECT sum(atomic) FROM purchase_fees_returned WHERE purchase_id = purchases.id), 0) AS cost
    FROM purchases WHERE account_id = $1`,
};

const receivedBy = `SELECT coalesce(sum(amount - fee), 0) AS sum FROM ledger.postings WHERE type = 'transfer' AND recipient_id = $1`;
const balanceOf = 'SELECT coalesce(sum(balance), 0) AS sum FROM ledger.accounts WHERE id = $1';

/** They may cost less than was allowed. */
const areAllowed: ReadonlySet<string> = new Set(['order', 'call']);

/** Nothing that was acknowledged is missing or has another amount, and nothing is there that was not asked for. Returns what is wrong. */
export async function findDifferences(db: Database, acknowledged: readonly Acknowledged[]): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const handle of new Set(acknowledged.flatMap(({ handle: own, to = own }) => [own, to]))) {
    const [account] = (await db.query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle])).rows;
    if (account === undefined) {
      wrong.push(`${handle} is missing`);
      continue;
    }
    let expected = onlyRow(await db.query<{ sum: bigint }>(receivedBy, [account.id])).sum;
    for (const [feature, sql] of Object.entries(rowsOf)) {
      const told = acknowledged.filter((one) => one.handle === handle && one.feature === feature);
      const there = (await db.query<Row>(sql, [account.id])).rows;
      wrong.push(...compare(told, there).map((what) => `${handle}: ${feature} ${what}`));
      for (const { cost } of there) expected -= cost;
    }
    const { sum: balance } = onlyRow(await db.query<{ sum: bigint }>(balanceOf, [userAccount(account.id, 'USDC')]));
    if (balance !== expected) wrong.push(`${handle} has ${balance}, and ${expected} by what it did and received`);
  }
  return wrong;
}

/** Of one account and feature. */
export function compare(told: readonly Acknowledged[], rows: readonly Row[]): readonly string[] {
  const asked = new Map(told.map((one) => [rowIdOf(one.id), one]));
  const there = new Map(rows.map((row) => [row.id, row]));
  const wrong = asked.size === told.length ? [] : ['was acknowledged twice under one id'];
  for (const [id, { feature, amount }] of asked) {
    const row = there.get(id);
    const atomic = parseUnits(amount, 6);
    if (row === undefined) wrong.push(`${id} is missing`);
    else if (areAllowed.has(feature) ? row.amount > atomic : row.amount !== atomic)
      wrong.push(`${id} is about ${row.amount}, and ${atomic} was asked for`);
  }
  for (const { id, isUndone } of rows) if (!isUndone && !asked.has(id)) wrong.push(`${id} was told to nobody`);
  return wrong;
}

/** Postings are rows under their UUID. */
const rowIdOf = (id: string) => fromTypeId('trf', id) ?? id;

/** Everything under way comes to its end. */
export async function awaitEnd(db: Database): Promise<void> {
  const sagas = features.flatMap((feature) => (feature.sagas ?? []).map(({ saga }) => saga));
  const open = () => listOpenSagas(db, sagas);
  try {
    await until('the end of what is under way', async () => (await open()).length === 0, 600_000);
  } catch (error) {
    const left = (await open()).map(({ saga, id, status, waitsFor }) => `${saga} ${id} is ${status}: ${waitsFor}`);
    throw new Error(`${(error as Error).message}:\n${left.join('\n')}`);
  }
}

/** The books, the chains, and what was received of both. */
export async function findProblems(
  db: Database,
  {
    url,
    outside,
    acknowledged,
  }: { readonly url: string; readonly outside: string; readonly acknowledged: readonly Acknowledged[] },
): Promise<readonly string[]> {
  const client = createClient(url);
  const wrong = [...(await verifyLedger(db)).problems.map((problem) => JSON.stringify(problem))];
  const account = await client.register();
  await until('reserves without a difference', async () => {
    const { body } = await client.get('/reserves', account.key);
    const rows: readonly { readonly difference: string }[] = body.reserves ?? [];
    return rows.length > 0 && rows.every(({ difference }) => difference === '0');
  }).catch((error: Error) => wrong.push(error.message));

  // What the chain has paid out is what was acknowledged and not returned.
  const { rows } = await db.query<{ status: string; sent: bigint }>(
    'SELECT status, sum(net)::bigint AS sent FROM withdrawals WHERE lower(address) = lower($1) GROUP BY status',
    [outside],
  );
  const sent = rows.find(({ status }) => status === 'complete')?.sent ?? 0n;
  const arrived = await balanceOutside(url, outside);
  if (sent !== arrived) wrong.push(`withdrawals have sent ${sent}, and ${arrived} arrived`);
  const count = acknowledged.filter(({ feature }) => feature === 'withdrawal').length;
  if (count > 0 && arrived === 0n) wrong.push('no withdrawal arrived');
  return wrong;
}

/** The state in which an operation has done what it was asked for. */
const doneIn = {
  withdrawals: 'complete',
  swaps: 'completed',
  bridges: 'completed',
  orders: 'completed',
  purchases: 'paid',
};

/** A machine that is lost may let an operation fail, and returns its money. More of them are done than are not. */
export async function findFailures(db: Database): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const [table, done] of Object.entries(doneIn)) {
    const { rows } = await db.query<{ status: string; count: bigint }>(
      `SELECT status, count(*) FROM ${table} GROUP BY status`,
    );
    const all = rows.reduce((sum, { count }) => sum + count, 0n);
    const finished = rows.find(({ status }) => status === done)?.count ?? 0n;
    const ends = rows.map(({ status, count }) => `${count} ${status}`).join(', ');
    if (2n * finished <= all) wrong.push(`of ${all} ${table} most should be ${done}: ${ends}`);
  }
  return wrong;
}

async function balanceOutside(url: string, outside: string): Promise<bigint> {
  const { body } = await createClient(url).get('/sandbox');
  const matic = body.chains.find(({ id }: { readonly id: string }) => id === 'MATIC');
  const chain = createPublicClient({ transport: http(matic.rpcUrl) });
  return chain.readContract({
    address: matic.tokens.USDC,
    abi: parseAbi(['function balanceOf(address) view returns (uint256)']),
    functionName: 'balanceOf',
    args: [outside as `0x${string}`],
  });
}

/** Two machines never both acknowledged, and no row is gone that one of them has acknowledged. */
export async function findSplits(db: Database, { acknowledged }: Probe): Promise<readonly string[]> {
  const { rows } = await db.query<{ machine: string; number: number }>('SELECT machine, number FROM cluster_probe');
  const there = new Set(rows.map(({ machine, number }) => `${machine} ${number}`));
  const lost = acknowledged.filter(({ machine, number }) => !there.has(`${machine} ${number}`));
  return [
    ...lost.map(({ machine, number }) => `row ${number} of ${machine} was acknowledged and is gone`),
    ...overlapsOf(acknowledged).map(({ machine }) => `${machine} acknowledged beside another primary`),
  ];
}

interface Told {
  /** What came to the receiver of all webhooks. */
  readonly arrived: readonly { readonly eventId: string; readonly body: string }[];
  readonly acknowledged: readonly Acknowledged[];
  readonly subscribers: ReadonlySet<string>;
}

/** Acknowledged payments whose recipients subscribed to `payment.received`, and that the receiver never saw. */
export function untoldOf({ arrived, acknowledged, subscribers }: Told): readonly string[] {
  const events = arrived.map(({ body }) => JSON.parse(body));
  const told = new Set(
    events
      .filter(({ type }) => type === 'payment.received')
      .map(({ data }) => `${data.recipient.handle} ${data.transferId}`),
  );
  return acknowledged
    .filter(({ to, id }) => to !== undefined && subscribers.has(to) && !told.has(`${to} ${id}`))
    .map(({ to, id }) => `${to} was never told that it received ${id}`);
}

/** Every payment that was received, and every other event, was told to the webhook of its account, whichever instance was free. */
export async function findUntold(db: Database, { arrived, ...asked }: Told): Promise<readonly string[]> {
  const open = "SELECT count(*) FROM webhook_deliveries WHERE status = 'pending'";
  await until(
    'the last delivery',
    async () =>
      onlyRow(await db.query<{ count: bigint }>(open)).count === 0n &&
      onlyRow(await db.query<{ count: bigint }>('SELECT count(*) FROM ledger.events')).count === 0n,
    600_000,
  );
  const { rows } = await db.query<{ eventId: string; status: string }>(
    'SELECT event_id, status FROM webhook_deliveries',
  );
  // Only now has everything arrived.
  const told = new Set(arrived.map(({ eventId }) => eventId));
  const undelivered = rows.flatMap(({ eventId, status }) => {
    if (status !== 'delivered') return [`a delivery of ${eventId} is ${status}`];
    return told.has(eventId) ? [] : [`${eventId} was never told`];
  });
  return [...undelivered, ...untoldOf({ arrived, ...asked })];
}
