import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { listSteps } from '../../src/chain-steps/chain-step.ts';
import { onlyRow } from '../../src/db/database.ts';
import { sweepSaga } from '../../src/deposits/sweep-saga.ts';
import { resumeAllSagas } from '../../src/sagas/resume-sagas.ts';
import { houseMoveSaga } from '../../src/treasury/house-move.ts';
import { withdrawalSaga } from '../../src/withdrawals/saga.ts';
import { useOlderDatabase } from '../support/older-database.ts';

const database = useOlderDatabase({ without: '_sagas.sql' });
const { db } = database;

const [treasury, gas, newTreasury] = ['wal_treasury', 'wal_gas', 'wal_new'];
const recipient = '0xAbCdEf0000000000000000000000000000000001';
const [first, last] = [new Date('2026-01-02T03:04:05Z'), new Date('2026-01-02T04:00:00Z')];
const hash = (name: string) => `0x${Buffer.from(name).toString('hex').padStart(64, '0')}`;

interface OldWithdrawal {
  readonly status: string;
  readonly wallet?: string;
  readonly ref?: string;
  readonly hash?: string;
  readonly block?: bigint;
  readonly error?: string;
}

/** Every state in which the release before can have left a withdrawal. */
const withdrawals: Readonly<Record<string, OldWithdrawal>> = {
  queued: { status: 'queued' },
  held: { status: 'held' },
  awaiting: { status: 'awaiting_liquidity' },
  asked: { status: 'sending', wallet: treasury },
  taken: { status: 'sending', wallet: treasury, ref: 'ref-taken' },
  sent: { status: 'sending', wallet: treasury, ref: 'ref-sent', hash: hash('sent') },
  complete: { status: 'complete', wallet: treasury, ref: 'ref-complete', hash: hash('complete'), block: 77n },
  refused: { status: 'failed', wallet: treasury, error: 'It holds less.' },
  undone: { status: 'failed', wallet: treasury, ref: 'ref-undone', hash: hash('undone'), error: 'It was undone.' },
  cancelled: { status: 'failed', error: 'An operator gave it back.' },
};

interface OldSweep {
  readonly status: string;
  readonly wallet?: string;
  readonly ref?: string;
  readonly hash?: string;
}

const sweeps: Readonly<Record<string, OldSweep>> = {
  signed: { status: 'signed' },
  asked: { status: 'sending', wallet: gas },
  taken: { status: 'sending', wallet: gas, ref: 'ref-sweep-taken' },
  sent: { status: 'sending', wallet: gas, ref: 'ref-sweep-sent', hash: hash('swsent') },
  complete: { status: 'complete', wallet: gas, ref: 'ref-sweep-complete', hash: hash('swcomplete') },
  // Somebody else has submitted the authorizations.
  overtaken: { status: 'complete', wallet: gas },
  lapsed: { status: 'failed' },
  refused: { status: 'failed', wallet: gas },
  undone: { status: 'failed', wallet: gas, ref: 'ref-sweep-undone', hash: hash('swundone') },
};

interface OldMove {
  readonly finished?: true;
  readonly ref?: string;
  readonly hash?: string;
  /** What our keys know of it. */
  readonly known?: 'confirmed' | 'failed';
}

const moves: Readonly<Record<string, OldMove>> = {
  open: {},
  taken: { ref: 'ref-move-taken', known: 'confirmed' },
  complete: { finished: true, ref: 'ref-move-complete', hash: hash('mvcomplete'), known: 'confirmed' },
  refused: { finished: true },
  undone: { finished: true, ref: 'ref-move-undone', hash: hash('mvundone'), known: 'failed' },
};

const isOver = (status: string) => status === 'complete' || status === 'failed';
const keys = new Map<string, string>();
const keyOf = (id: string) => keys.get(id) ?? '';
function newKey(id: string): string {
  const key = randomUUID();
  keys.set(id, key);
  return key;
}

/** By the database's clock, just before. */
let upgradedAt: Date;

beforeAll(async () => {
  await insertWallets();
  for (const [name, row] of Object.entries(withdrawals)) await insertWithdrawal(`wdr_${name}`, row);
  for (const [name, row] of Object.entries(sweeps)) await insertSweep(`swp_${name}`, row);
  for (const [name, row] of Object.entries(moves)) await insertMove(`mov_${name}`, row);
  await leaveJobs();
  upgradedAt = onlyRow(
    await db.query<{ now: Date }>("SELECT date_trunc('milliseconds', clock_timestamp()) AS now"),
  ).now;
  await database.upgrade();
});

const step = async (id: string) => (await listSteps(db, id))[0];
const leaves = async (id: string) =>
  (
    await db.query(
      `SELECT chain, wallet_id, asset, atomic, recipient, stays, waiting_since, short_since, passed_at,
              settled_at = 'infinity' AS promised FROM chain_step_leaves WHERE step_id = $1`,
      [keyOf(id)],
    )
  ).rows;

describe('a withdrawal of the release before', () => {
  const states = {
    awaiting: 'waiting',
    asked: 'asked',
    taken: 'taken',
    sent: 'taken',
    complete: 'confirmed',
    refused: 'failed',
    undone: 'failed',
  };

  test.each(Object.entries(states))('that was left %s is carried over with all that is known', async (name, state) => {
    const id = `wdr_${name}`;
    const old = withdrawals[name];
    expect(await listSteps(db, id)).toEqual([
      {
        id: keyOf(id),
        saga: 'withdrawal',
        sagaId: id,
        step: 'pay',
        chain: 'MATIC',
        walletId: old?.wallet ?? null,
        userWalletId: null,
        state,
        // It cannot have been asked for before it came to be, and until the upgrade nobody knows of an answer.
        askedAt: name === 'awaiting' ? null : first,
        unansweredAt: name === 'asked' ? expect.any(Date) : null,
        providerRef: old?.ref ?? null,
        hash: old?.hash ?? null,
        blockNumber: old?.block ?? null,
        gasCost: null,
        reason: old?.error ?? null,
      },
    ]);
    expect(await leaves(id)).toEqual([
      {
        chain: 'MATIC',
        wallet_id: old?.wallet ?? null,
        asset: 'USDC',
        atomic: '9000000',
        recipient: recipient.toLowerCase(),
        stays: false,
        waiting_since: first,
        short_since: null,
        passed_at: null,
        promised: !isOver(old?.status ?? ''),
      },
    ]);
  });

  test.each(['queued', 'held', 'cancelled'])('that was left %s was never asked for, and has no step', async (name) => {
    expect(await listSteps(db, `wdr_${name}`)).toEqual([]);
  });

  test.each(Object.entries(withdrawals))('that was left %s is what it was', async (name, old) => {
    const { rows } = await db.query('SELECT to_jsonb(w) AS row FROM withdrawals w WHERE id = $1', [`wdr_${name}`]);
    expect(rows[0]?.['row']).toMatchObject({
      status: old.status,
      chain: 'MATIC',
      asset: 'USDC',
      address: recipient,
      gross: 10_000_000,
      fee: 1_000_000,
      net: 9_000_000,
      error: old.error ?? null,
      waits_for: null,
      status_since: expect.stringContaining('2026-01-02T04:00:00'),
      finished_at: isOver(old.status) ? expect.stringContaining('2026-01-02T04:00:00') : null,
    });
  });
});

describe('a sweep of the release before', () => {
  const states = {
    asked: 'asked',
    taken: 'taken',
    sent: 'taken',
    complete: 'confirmed',
    overtaken: 'failed',
    refused: 'failed',
    undone: 'failed',
  };

  test.each(Object.entries(states))('that was left %s is carried over with all that is known', async (name, state) => {
    const id = `swp_${name}`;
    const { wallet = null, ref = null, hash: known = null, status } = sweeps[name] ?? { status: '' };
    expect(await listSteps(db, id)).toMatchObject([
      {
        id: keyOf(id),
        saga: 'sweep',
        step: 'submit',
        chain: 'MATIC',
        walletId: wallet,
        state,
        askedAt: first,
        unansweredAt: name === 'asked' ? expect.any(Date) : null,
        providerRef: ref,
        hash: known,
      },
    ]);
    // The gas wallet gives nothing away but gas.
    expect(await leaves(id)).toEqual([]);
    const { rows } = await db.query('SELECT status, finished_at FROM sweeps WHERE id = $1', [id]);
    expect(rows).toEqual([{ status, finished_at: isOver(status) ? last : null }]);
  });

  test.each(['signed', 'lapsed'])('that was left %s was shown to nobody, and has no step', async (name) => {
    expect(await listSteps(db, `swp_${name}`)).toEqual([]);
  });
});

describe('a move of the release before', () => {
  test.each([
    ['open', 'moving', 'asked'],
    ['taken', 'moving', 'taken'],
    ['complete', 'complete', 'confirmed'],
    ['refused', 'failed', 'failed'],
    ['undone', 'failed', 'failed'],
  ])('that was left %s is %s, and its step is %s', async (name, status, state) => {
    const id = `mov_${name}`;
    const { ref = null, hash: known = null } = moves[name] ?? {};
    expect(await listSteps(db, id)).toMatchObject([
      {
        id: keyOf(id),
        saga: 'house_move',
        step: 'move',
        walletId: treasury,
        state,
        askedAt: first,
        unansweredAt: name === 'open' ? expect.any(Date) : null,
        providerRef: ref,
        hash: known,
      },
    ]);
    const { rows } = await db.query('SELECT status, atomic, from_wallet, to_wallet FROM house_moves WHERE id = $1', [
      id,
    ]);
    expect(rows).toEqual([{ status, atomic: expect.any(String), from_wallet: treasury, to_wallet: newTreasury }]);
  });
});

describe('what was carried over', () => {
  test('may have been asked for until just now, whatever its row says', async () => {
    for (const id of ['wdr_asked', 'swp_asked', 'mov_open']) {
      const { unansweredAt } = (await step(id)) ?? {};
      expect(unansweredAt?.getTime(), id).toBeGreaterThanOrEqual(upgradedAt.getTime());
    }
  });

  test('cannot be forgotten once it was asked for', async () => {
    const { rows } = await db.query<{ id: string }>("SELECT id FROM chain_steps WHERE state <> 'waiting'");
    expect(rows).toHaveLength(18);
    for (const { id } of rows) {
      await expect(db.query('DELETE FROM chain_steps WHERE id = $1', [id])).rejects.toThrow('cannot be forgotten');
    }
  });

  const next: readonly (readonly [string, string, string])[] = [
    ['withdrawals', 'wdr_queued', 'awaiting_liquidity'],
    ['withdrawals', 'wdr_queued', 'held'],
    ['withdrawals', 'wdr_held', 'awaiting_liquidity'],
    ['withdrawals', 'wdr_held', 'failed'],
    ['withdrawals', 'wdr_awaiting', 'sending'],
    ...['asked', 'taken', 'sent'].flatMap((name) =>
      ['complete', 'failed'].map((to) => ['withdrawals', `wdr_${name}`, to] as const),
    ),
    ['sweeps', 'swp_signed', 'sending'],
    ...['asked', 'taken', 'sent'].flatMap((name) =>
      ['complete', 'failed'].map((to) => ['sweeps', `swp_${name}`, to] as const),
    ),
    ...['open', 'taken'].flatMap((name) =>
      ['complete', 'failed'].map((to) => ['house_moves', `mov_${name}`, to] as const),
    ),
  ];

  test.each(next)('takes its next step: in %s %s becomes %s', async (table, id, to) => {
    await expect(move(table, id, to)).rejects.toThrow('undo');
  });

  const finished = [
    ...['complete', 'refused', 'undone', 'cancelled'].map((name) => ['withdrawals', `wdr_${name}`] as const),
    ...['complete', 'overtaken', 'lapsed', 'refused', 'undone'].map((name) => ['sweeps', `swp_${name}`] as const),
    ...['complete', 'refused', 'undone'].map((name) => ['house_moves', `mov_${name}`] as const),
  ];

  test.each(finished)('is finished when it was: in %s %s changes no more', async (table, id) => {
    await expect(db.query(`UPDATE ${table} SET waits_for = 'nothing' WHERE id = $1`, [id])).rejects.toThrow(
      'cannot go',
    );
    const found = await step(id);
    if (found === undefined) return;
    await expect(db.query('UPDATE chain_steps SET hash = $2 WHERE id = $1', [found.id, hash('x')])).rejects.toThrow(
      'is settled',
    );
  });

  test.each(['wdr_asked', 'swp_asked', 'mov_open'])('keeps its wallet and its key: %s', async (id) => {
    const update = (change: string) => db.query(`UPDATE chain_steps SET ${change} WHERE saga_id = $1`, [id]);
    await expect(update(`wallet_id = '${newTreasury}'`)).rejects.toThrow('cannot become another one');
    await expect(update('id = gen_random_uuid()')).rejects.toThrow('cannot become another one');
    await expect(update('asked_at = now()')).rejects.toThrow('cannot become another one');
  });

  test('promises what it promised, and nothing that is over', async () => {
    const { rows } = await db.query<{ saga_id: string }>(
      `SELECT s.saga_id FROM chain_step_leaves l JOIN chain_steps s ON s.id = l.step_id
        WHERE l.wallet_id = $1 AND l.settled_at = 'infinity' ORDER BY s.saga_id`,
      [treasury],
    );
    expect(rows.map(({ saga_id }) => saga_id)).toEqual(['wdr_asked', 'wdr_sent', 'wdr_taken']);
  });
});

describe('the jobs that were left', () => {
  const jobs = async () => {
    const { rows } = await db.query<{ task: string; key: string | null }>(
      'SELECT task_identifier AS task, key FROM graphile_worker.jobs ORDER BY task_identifier, key',
    );
    return rows.map(({ task, key }) => `${task} ${key ?? '-'}`);
  };

  test('of withdrawals are gone, locked or not; those of others are there', async () => {
    expect(await jobs()).toEqual(['send_message msg_1']);
  });

  test('are replaced at the next start by those of every saga that is under way', async () => {
    await resumeAllSagas(db, [withdrawalSaga, sweepSaga, houseMoveSaga]);
    const open = [
      ...['mov_open', 'mov_taken', 'swp_asked', 'swp_sent', 'swp_signed', 'swp_taken'],
      ...['wdr_asked', 'wdr_awaiting', 'wdr_queued', 'wdr_sent', 'wdr_taken'],
    ];
    expect(await jobs()).toEqual([...open.map((id) => `saga_MATIC ${id}`), 'send_message msg_1']);
  });
});

/** Tries it and undoes it. */
async function move(table: string, id: string, to: string): Promise<void> {
  await db.transaction(async (tx) => {
    const end = isOver(to) ? new Date() : null;
    const { rowCount } = await tx.query(`UPDATE ${table} SET status = $2, finished_at = $3 WHERE id = $1`, [
      id,
      to,
      end,
    ]);
    expect(rowCount).toBe(1);
    if (end !== null && id !== 'wdr_held') {
      const settled = await tx.query(
        `UPDATE chain_steps SET state = $2, hash = coalesce(hash, $3), block_number = 5, settled_at = now(),
            provider_ref = coalesce(provider_ref, 'later') WHERE saga_id = $1`,
        [id, to === 'complete' ? 'confirmed' : 'failed', hash('late')],
      );
      expect(settled.rowCount).toBe(1);
    }
    throw new Error('undo');
  });
}

async function insertWallets(): Promise<void> {
  const wallets = [
    [treasury, 'treasury', '1', last],
    [newTreasury, 'treasury', '2', null],
    [gas, 'gas', '3', null],
  ] as const;
  for (const [id, purpose, digit, retired] of wallets) {
    await db.query(
      `INSERT INTO house_wallets (id, purpose, chain, provider, provider_ref, address, retired_at)
       VALUES ($1, $2, 'MATIC', 'keys', $1, $3, $4)`,
      [id, purpose, `0x${digit.repeat(40)}`, retired],
    );
  }
}

async function insertWithdrawal(id: string, old: OldWithdrawal): Promise<void> {
  const { status, wallet, ref, hash: known, block, error } = old;
  await db.query(
    `INSERT INTO withdrawals (id, chain, asset, address, gross, fee, net, status, idempotency_key, house_wallet_id,
        provider_ref, tx_hash, block_number, error, created_at, updated_at, finished_at)
     VALUES ($1, 'MATIC', 'USDC', $2, 10000000, 1000000, 9000000, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      id,
      recipient,
      status,
      newKey(id),
      wallet ?? null,
      ref ?? null,
      known ?? null,
      block ?? null,
      error ?? null,
      first,
      last,
      isOver(status) ? last : null,
    ],
  );
}

async function insertSweep(id: string, { status, wallet, ref, hash: known }: OldSweep): Promise<void> {
  await db.query(
    `INSERT INTO sweeps (id, chain, asset, idempotency_key, gas_wallet_id, provider_ref, status, tx_hash, created_at,
        finished_at) VALUES ($1, 'MATIC', 'USDC', $2, $3, $4, $5, $6, $7, $8)`,
    [id, newKey(id), wallet ?? null, ref ?? null, status, known ?? null, first, isOver(status) ? last : null],
  );
}

async function insertMove(id: string, { finished, ref, hash: tx, known }: OldMove): Promise<void> {
  const key = newKey(id);
  await db.query(
    `INSERT INTO house_moves (id, chain, from_wallet, to_wallet, token, atomic, idempotency_key, provider_ref, tx_hash,
        created_at, finished_at) VALUES ($1, 'MATIC', $2, $3, $4, 5, $5, $6, $7, $8, $9)`,
    [id, treasury, newTreasury, `token of ${id}`, key, ref ?? null, tx ?? null, first, finished ? last : null],
  );
  if (known === undefined) return;
  await db.query(
    `INSERT INTO key_transactions (id, chain, sender, provider_ref, nonce, recipient, data, state)
     VALUES ($1, 'MATIC', '-', $2, $3, '-', '', $4)`,
    [key, ref, keys.size, known],
  );
}

/** As they are in the queue of a service that was ended in the middle. */
async function leaveJobs(): Promise<void> {
  const add = (task: string, key: string | null) =>
    db.query('SELECT graphile_worker.add_job($1, $2::json, job_key => $3)', [task, '{}', key]);
  for (const name of Object.keys(withdrawals)) await add('advance_withdrawal', `wdr_${name}`);
  await add('resume_withdrawals', null);
  await add('send_message', 'msg_1');
  await db.query(
    `UPDATE graphile_worker._private_jobs SET locked_at = now(), locked_by = 'a worker that was killed'
      WHERE key IN ('wdr_asked', 'wdr_queued')`,
  );
}
