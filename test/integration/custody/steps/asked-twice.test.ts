import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ProviderRequest } from '../../../../src/custody/steps/ask-provider.ts';
import { findStep } from '../../../../src/custody/steps/chain-step.ts';
import { settleStep } from '../../../../src/custody/steps/settle-step.ts';
import { takeStep } from '../../../../src/custody/steps/take-step.ts';
import { type AskedBefore, ProviderError, type WalletProvider } from '../../../../src/custody/wallets/provider.ts';
import type { Database, Transaction } from '../../../../src/kernel/db/database.ts';
import { useDatabase } from '../../../support/database.ts';
import { gate } from '../../../support/gate.ts';
import { until } from '../../../support/until.ts';

// A job that took too long goes on beside its successor, and a wake-up may start one while another is at it: so two processes
// may ask for one step at the same time, and one of them may be refused what the other is given.
const { db } = useDatabase();
const address = `0x${'1'.repeat(40)}` as const;
const listSettlesMs = 60_000;

let which: { sagaId: string; step: string };
beforeAll(async () => {
  await db.query(
    `INSERT INTO house_wallets (id, purpose, chain, provider, provider_ref, address)
     VALUES ('wal_1', 'treasury', 'MATIC', 'made-up', 'ref', $1)`,
    [address],
  );
});
beforeEach(() => {
  which = { sagaId: `wdr_${randomUUID()}`, step: 'pay' };
});

async function insertStep(asked?: { minutesAgo: number }): Promise<void> {
  await db.query(
    `INSERT INTO chain_steps (id, saga, saga_id, step, chain, wallet_id, state, asked_at, unanswered_at)
     VALUES ($1, 'withdrawal', $2, 'pay', 'MATIC', 'wal_1', $3, now() - make_interval(mins => $4), now() - make_interval(mins => $4))`,
    [randomUUID(), which.sagaId, asked === undefined ? 'ready' : 'asked', asked?.minutesAgo ?? null],
  );
}

const refusal = new ProviderError('The wallet holds less.', { retryable: false, code: 'insufficient_funds' });

/** A provider that lists nothing, and says so only when its list is settled. */
function providerWith(part: Partial<Pick<WalletProvider, 'sendToken' | 'findTaken' | 'lookUp'>>): WalletProvider {
  return {
    name: 'made-up',
    findTaken: async (_asked: unknown, { quietMs }: AskedBefore) => {
      if (quietMs >= listSettlesMs) return undefined;
      throw new ProviderError('The list is not settled.', { retryable: true, code: 'provider_list_unsettled' });
    },
    lookUp: async () => ({ state: 'pending' }),
    ...part,
  } as unknown as WalletProvider;
}

const request = (from: ProviderRequest['from']): ProviderRequest => ({ from, token: address, to: address, atomic: 1n });
const take = (provider: WalletProvider, through: Database = db) =>
  takeStep({ db: through, networks: new Map(), provider }, which, request);

/** Reads what it likes, and stops before it writes anything down. */
function slowWriter(until: Promise<void>, onStop = () => {}): Database {
  return new Proxy(db, {
    get(target, name: keyof Database) {
      if (name === 'transaction') {
        return async (work: (tx: Transaction) => Promise<unknown>) => {
          onStop();
          await until;
          return target.transaction(work);
        };
      }
      if (name !== 'query') return target[name];
      return async (text: string, values?: readonly unknown[]) => {
        if (text.startsWith('UPDATE')) {
          onStop();
          await until;
        }
        return target.query(text, values as unknown[]);
      };
    },
  });
}

const isAsked = () => until('it to be asked for', async () => (await findStep(db, which))?.state === 'asked');

describe('while another process asks, a refusal is not final', () => {
  test.each([
    ['for the first time', undefined],
    ['once more', { minutesAgo: 10 }],
  ])('%s: the list is looked at, and it is not settled', async (_, asked) => {
    await insertStep(asked);
    const [read, answered] = [gate(), gate()];
    // Both have read that nobody asks at the moment.
    const refused = take(providerWith({ sendToken: () => Promise.reject(refusal) }), slowWriter(read.opened));
    let isSent = false;
    const taken = take(
      providerWith({
        async sendToken() {
          isSent = true;
          await answered.opened;
          return 'the reference';
        },
      }),
    );
    await until('the other to ask', async () => isSent);
    read.open();
    await expect(refused).rejects.toMatchObject({ code: 'provider_list_unsettled', retryable: true });
    answered.open();
    expect(await taken).toMatchObject({ state: 'waiting' });
    expect(await findStep(db, which)).toMatchObject({ state: 'taken', providerRef: 'the reference' });
  });

  test('nor when the other one asks while the list is read', async () => {
    await insertStep({ minutesAgo: 10 });
    const [listed, answered] = [gate(), gate()];
    let isListing = false;
    const refused = take(
      providerWith({
        sendToken: () => Promise.reject(refusal),
        async findTaken() {
          isListing = true;
          await listed.opened;
          return undefined;
        },
      }),
    );
    await until('the list to be read', async () => isListing);
    const taken = take(
      providerWith({
        async sendToken() {
          await answered.opened;
          return 'the reference';
        },
      }),
    );
    await until('the other to ask', async () => {
      const { rows } = await db.query(
        "SELECT FROM chain_steps WHERE saga_id = $1 AND unanswered_at > now() - interval '5 minutes'",
        [which.sagaId],
      );
      return rows.length > 0;
    });
    listed.open();
    const end = await refused;
    if (end.state !== 'failed') throw new Error('it was not refused');
    await expect(db.transaction((tx) => settleStep(tx, which, end))).rejects.toMatchObject({ code: 'asked_elsewhere' });
    answered.open();
    await taken;
    await expect(db.transaction((tx) => settleStep(tx, which, end))).rejects.toMatchObject({ code: 'asked_elsewhere' });
    expect(await findStep(db, which)).toMatchObject({ state: 'taken', providerRef: 'the reference' });
  });
});

test('a refusal that nobody came between settles the step, and then nobody asks any more', async () => {
  for (const asked of [undefined, { minutesAgo: 10 }]) {
    which = { sagaId: `wdr_${randomUUID()}`, step: 'pay' };
    await insertStep(asked);
    const [late, stopped] = [gate(), gate()];
    const writer = slowWriter(late.opened, stopped.open);
    const sent: string[] = [];
    const sendToken = async () => `sent ${sent.push('too late')}`;
    const other = take(providerWith({ sendToken }), writer);
    await stopped.opened;
    const end = await take(providerWith({ sendToken: () => Promise.reject(refusal) }));
    if (end.state !== 'failed') throw new Error('it was not refused');
    await isAsked();
    expect(await db.transaction((tx) => settleStep(tx, which, end))).toEqual([]);
    late.open();
    expect(await other).toMatchObject({ state: 'failed', reason: 'The wallet holds less.' });
    expect(sent).toEqual([]);
    expect(await findStep(db, which)).toMatchObject({
      state: 'failed',
      reason: 'The wallet holds less.',
      providerRef: null,
    });
  }
});

test.each([
  ['asks', undefined],
  ['looks whether it may ask', async () => {}],
])(
  'a step that the provider has taken while another process %s is followed there, and not asked for again',
  async (_, beforeAsking) => {
    await insertStep();
    const [late, stopped] = [gate(), gate()];
    const asked: string[] = [];
    const lookedUp: string[] = [];
    const provider = providerWith({
      sendToken: async ({ idempotencyKey }) => `reference ${asked.push(idempotencyKey)}`,
      lookUp: async (_chain, ref) => {
        lookedUp.push(ref);
        return { state: 'pending' };
      },
    });
    const behind = slowWriter(late.opened, stopped.open);
    const other = takeStep({ db: behind, networks: new Map(), provider }, which, request, beforeAsking);
    await stopped.opened;
    expect(await take(provider)).toMatchObject({ state: 'waiting' });
    late.open();
    expect(await other).toMatchObject({ state: 'waiting' });
    expect(asked).toHaveLength(1);
    expect(lookedUp).toEqual(['reference 1', 'reference 1']);
  },
);

test('whoever asks again says since when, so that the provider can look for what it has taken', async () => {
  await insertStep();
  const asked: unknown[] = [];
  const lost = new ProviderError('The answer was lost.', { retryable: true, code: 'provider_unreachable' });
  const provider = providerWith({
    sendToken: async ({ askedBefore }) => {
      if (asked.push(askedBefore?.askedAt) === 1) throw lost;
      return 'the reference';
    },
  });
  await expect(take(provider)).rejects.toBe(lost);
  const { askedAt } = (await findStep(db, which)) ?? {};
  expect(await take(provider)).toMatchObject({ state: 'waiting' });
  expect(asked).toEqual([undefined, askedAt]);
});
