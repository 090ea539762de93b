import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { scopes } from '../../../src/kernel/http/define-route.ts';
import { httpErrors } from '../../../src/kernel/http/errors.ts';
import { keyDigest } from '../../../src/ledger/encode-batch.ts';
import { expireIdempotencyKeys } from '../../../src/ledger/feature.ts';
import { createOnce } from '../../../src/ledger/idempotency.ts';
import { useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const service = useService();

const hashOf = (content: string) => createHash('sha256').update(content).digest('hex');

async function requestOf(key: string, content = 'content') {
  const { handle } = await service.client.register();
  const { rows } = await service.database.db.query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [
    handle,
  ]);
  const accountId = rows[0]?.id ?? 0n;
  return {
    caller: { accountId, keyId: 'key_x', handle, tier: 'free' as const, scopes, bucket: 'account:x' },
    idempotency: { key, requestHash: hashOf(content) },
  };
}

async function makeOld({ caller: { accountId }, idempotency }: Awaited<ReturnType<typeof requestOf>>, age: string) {
  const { rowCount } = await service.database.db.query(
    'UPDATE ledger.idempotency_keys SET posted_at = now() - $2::interval WHERE digest = $1',
    [keyDigest({ accountId, ...idempotency }), age],
  );
  expect(rowCount).toBe(1);
}

describe('work with an Idempotency-Key', () => {
  const once = createOnce(service.database.db);
  const answer = (n: number) => async () => ({ status: 200, body: { n } });

  test('is done once, and answered the same again', async () => {
    const request = await requestOf('a');
    expect(await once(request, answer(1))).toEqual({ status: 200, body: { n: 1 } });
    expect(await once(request, answer(2))).toEqual({ status: 200, body: { n: 1 }, replayed: true });
  });

  test('another request under the same key is refused', async () => {
    const request = await requestOf('a');
    await once(request, answer(1));
    const other = { ...request, idempotency: { ...request.idempotency, requestHash: hashOf('other') } };
    await expect(once(other, answer(2))).rejects.toMatchObject({ code: 'idempotency_mismatch', status: 422 });
  });

  test('the key is the account’s own', async () => {
    await once(await requestOf('shared'), answer(1));
    expect(await once(await requestOf('shared'), answer(2))).toEqual({ status: 200, body: { n: 2 } });
  });

  test('a refusal is not bound to the key', async () => {
    const request = await requestOf('a');
    await expect(once(request, () => Promise.reject(httpErrors.conflict()))).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await once(request, answer(1))).toEqual({ status: 200, body: { n: 1 } });
  });

  test('of many at once one runs; the others are told to wait, or get its answer', async () => {
    const request = await requestOf('a');
    let [runs, refused] = [0, 0];
    const slow = async () => {
      runs++;
      await until('the others to be told', async () => runs + refused === 8);
      return { status: 200, body: { n: 1 } };
    };
    const asked = Array.from({ length: 8 }, () => once(request, slow));
    for (const one of asked) one.catch(() => refused++);
    const results = await Promise.allSettled(asked);
    expect(runs).toBe(1);
    for (const result of results) {
      if (result.status === 'rejected')
        expect(result.reason).toMatchObject({ code: 'idempotency_in_progress', status: 409 });
      else expect(result.value.body).toEqual({ n: 1 });
    }
    expect(results.filter((result) => result.status === 'fulfilled').length).toBeGreaterThanOrEqual(1);
  });

  test('a connection that dies in the middle leaves neither the effect nor a lock', async () => {
    const request = await requestOf('a');
    const mark = randomBytes(4).toString('hex');
    await expect(
      once(request, async (tx) => {
        await tx.query('UPDATE accounts SET name = $2 WHERE id = $1', [request.caller.accountId, mark]);
        await tx.query('SELECT pg_terminate_backend(pg_backend_pid())');
        return { status: 200, body: { n: 1 } };
      }),
    ).rejects.toThrow();
    const { rowCount } = await service.database.db.query('SELECT FROM accounts WHERE name = $1', [mark]);
    expect(rowCount).toBe(0);
    expect(await once(request, answer(2))).toEqual({ status: 200, body: { n: 2 } });
  });

  test('keys are kept for more than a day, and not for ever', async () => {
    const { db } = service.database;
    const [young, old] = [await requestOf('young'), await requestOf('old')];
    await once(young, answer(1));
    await once(old, answer(1));
    await makeOld(young, '25 hours');
    await makeOld(old, '49 hours');
    await expireIdempotencyKeys(db).handler.run({});
    expect(await once(young, answer(2))).toMatchObject({ body: { n: 1 } });
    expect(await once(old, answer(2))).toMatchObject({ body: { n: 2 } });
  });

  test('a process whose clock is three days ahead forgets none of them', async () => {
    const request = await requestOf('a');
    await once(request, answer(1));
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3 * 24 * 60 * 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    await expireIdempotencyKeys(service.database.db).handler.run({});
    expect(await once(request, answer(2))).toEqual({ status: 200, body: { n: 1 }, replayed: true });
  });
});

describe('what is kept of a request that came with an Idempotency-Key', () => {
  const { db } = service.database;
  const webhook = { url: 'https://example.com/hook', events: ['payment.sent'], secret: 'tulip' };

  async function accountOf(handle: string): Promise<bigint> {
    const { rows } = await db.query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle]);
    return rows[0]?.id ?? 0n;
  }

  const digestOf = (accountId: bigint, key: string) => keyDigest({ accountId, key, requestHash: hashOf('') });
  const plainDigest = (...content: unknown[]) => hashOf(JSON.stringify(content)).slice(0, 32);
  const send = (path: string, body: unknown, account: { readonly key: string }, key: string) =>
    service.client.request('POST', path, { key: account.key, body, headers: { 'idempotency-key': key } });

  test('tells nobody who has the database alone what secret it held', async () => {
    const ada = await service.client.register();
    expect((await send('/webhooks', webhook, ada, 'k')).status).toBe(201);
    const { rows } = await db.query<{ kept: string }>(
      "SELECT replace(request_digest::text, '-', '') AS kept FROM ledger.idempotency_keys WHERE digest = $1",
      [digestOf(await accountOf(ada.handle), 'k')],
    );
    // Whoever could make it again for a guess would know when the guess is right.
    expect(rows).toHaveLength(1);
    expect(rows[0]?.kept).not.toBe(plainDigest('createWebhook', {}, webhook));
  });
});
