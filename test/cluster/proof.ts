import { createPublicClient, http, parseAbi } from 'viem';
import { features } from '../../src/app/features.ts';
import { type Database, onlyRow } from '../../src/kernel/db/database.ts';
import { fromTypeId } from '../../src/kernel/ids/typeid.ts';
import { listOpenSagas } from '../../src/kernel/sagas/list-sagas.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { createClient } from '../support/client.ts';
import { until } from '../support/until.ts';
import type { Acknowledged } from './load.ts';
import type { Probe } from './probe.ts';
import { overlapsOf } from './probe.ts';

/**
 * What an operation leaves behind: the rows of one account. A call whose process was killed before the seller saw the payment is undone, and
 * its caller is told that nothing was paid.
 */
const rowsOf: Readonly<Record<string, string>> = {
  transfer: `SELECT replace(id::text, '-', '') AS id, false AS is_undone FROM ledger.postings WHERE type = 'transfer' AND sender_id = $1`,
  withdrawal: 'SELECT id, false AS is_undone FROM withdrawals WHERE account_id = $1',
  swap: 'SELECT id, false AS is_undone FROM swaps WHERE account_id = $1',
  bridge: 'SELECT id, false AS is_undone FROM bridges WHERE account_id = $1',
  order: 'SELECT id, false AS is_undone FROM orders WHERE account_id = $1',
  call: `SELECT id, status = 'returned' AS is_undone FROM purchases WHERE account_id = $1`,
};

/** Nothing that was acknowledged is missing, and nothing is there that was not asked for. Returns what is wrong. */
export async function findDifferences(db: Database, acknowledged: readonly Acknowledged[]): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const handle of new Set(acknowledged.map((one) => one.handle))) {
    const { rows } = await db.query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle]);
    for (const [feature, sql] of Object.entries(rowsOf)) {
      const told = acknowledged.filter((one) => one.handle === handle && one.feature === feature);
      const ids = told.map(({ id }) => (id.startsWith('trf_') ? fromTypeId('trf', id) : id));
      const found = (await db.query<{ id: string; isUndone: boolean }>(sql, [rows[0]?.id])).rows;
      const [asked, there] = [new Set(ids), new Set(found.map(({ id }) => id))];
      if (asked.size !== ids.length) wrong.push(`${handle}: ${feature} was acknowledged twice under one id`);
      for (const id of asked) if (!there.has(id as string)) wrong.push(`${handle}: ${feature} ${id} is missing`);
      for (const { id, isUndone } of found)
        if (!isUndone && !asked.has(id)) wrong.push(`${handle}: nobody was told of ${feature} ${id}`);
    }
  }
  return wrong;
}

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
    return body.reserves?.every(({ difference }: { readonly difference: string }) => difference === '0');
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

/** Every payment that was received was told to the webhook of its recipient, whichever instance was free. */
export async function findUntold(
  db: Database,
  arrived: readonly { readonly eventId: string }[],
): Promise<readonly string[]> {
  const told = new Set(arrived.map(({ eventId }) => eventId));
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
  return rows.flatMap(({ eventId, status }) => {
    if (status !== 'delivered') return [`a delivery of ${eventId} is ${status}`];
    return told.has(eventId) ? [] : [`${eventId} was never told`];
  });
}
