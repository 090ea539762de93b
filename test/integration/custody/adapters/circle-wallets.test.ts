import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { fast, useCircle } from '../../../emulators/circle/connect.ts';
import { complaintsAbout } from '../../../emulators/circle/published.ts';
import { useDatabase } from '../../../support/database.ts';

const database = useDatabase();
const circle = useCircle(database);
const onPath = (end: string) => (request: { path: string }) => request.path.endsWith(end);
const asked = (end: string) => circle.emulator.exchanges.filter(onPath(end));

afterEach(() => circle.emulator.faults.clear());
afterAll(() => expect(complaintsAbout(circle.emulator.exchanges)).toEqual([]));

describe('wallets at Circle', () => {
  it('are all in one set, made once by instances that start together and lose answers', async () => {
    circle.emulator.faults.next({ trouble: { how: 'lose-answer' }, times: 2, on: onPath('/walletSets') });
    const instances = await Promise.all(Array.from({ length: 4 }, () => circle.connect()));
    await Promise.all(instances.map((instance) => instance.createWallet({ chain: 'MATIC' })));
    const sets = new Set([...circle.emulator.wallets.wallets.values()].map(({ walletSetId }) => walletSetId));
    expect(sets.size).toBe(1);

    const before = asked('/walletSets').length;
    await (await circle.connect()).createWallet({ chain: 'MATIC' });
    expect(asked('/walletSets')).toHaveLength(before);
  });

  it('come by the hundreds in one request, and the same key gives the same ones', async () => {
    const request = { chain: 'MATIC', count: 200, idempotencyKey: randomUUID() } as const;
    const before = asked('/developer/wallets').length;
    const first = await circle.provider.createWallets(request);
    expect(first).toHaveLength(200);
    expect(asked('/developer/wallets')).toHaveLength(before + 1);
    expect(await circle.provider.createWallets(request)).toEqual(first);
  });

  it('take a key that is no version 4 too', async () => {
    const request = { chain: 'MATIC', idempotencyKey: '018f3c3a-7c00-7abc-8def-0123456789ab' } as const;
    const first = await circle.provider.createWallet(request);
    expect(await circle.provider.createWallet(request)).toEqual(first);
  });

  it('are not lost when nobody got the answer: the next caller takes up the request', async () => {
    const hasty = await circle.connect({ limits: { tries: 1, writesPerSecond: 500 } });
    circle.emulator.faults.next({ trouble: { how: 'lose-answer' }, on: onPath('/developer/wallets') });
    const known = new Set(circle.emulator.wallets.wallets.keys());
    await expect(hasty.createWallet({ chain: 'MATIC' })).rejects.toMatchObject({ retryable: true });
    const [orphan] = [...circle.emulator.wallets.wallets.keys()].filter((id) => !known.has(id));

    // Whoever asked may still be there for a moment.
    const other = await hasty.createWallet({ chain: 'MATIC' });
    expect(other.ref).not.toBe(orphan);
    await database.db.query(
      "UPDATE circle_wallet_requests SET asked_at = now() - interval '1 hour' WHERE answered_at IS NULL",
    );
    const [first, second] = await Promise.all([
      hasty.createWallet({ chain: 'MATIC' }),
      hasty.createWallet({ chain: 'MATIC' }),
    ]);
    expect([first.ref, second.ref].filter((ref) => ref === orphan)).toHaveLength(1);
  });

  it('are given to one caller only, also when a slow one was taken for gone', async () => {
    const slow = await circle.connect();
    await slow.createWallet({ chain: 'MATIC' });
    let breakOff = () => {};
    const until = new Promise<void>((resolve) => {
      breakOff = resolve;
    });
    circle.emulator.faults.next({ trouble: { how: 'hang', until }, on: onPath('/developer/wallets') });
    const hanging = circle.connect({ limits: { ...fast, timeoutMs: 60_000, totalMs: 120_000 } });
    const first = hanging.then((provider) => provider.createWallet({ chain: 'MATIC' }));
    await expect.poll(() => asked('/developer/wallets').at(-1)?.answer).toBeUndefined();
    await database.db.query(
      "UPDATE circle_wallet_requests SET asked_at = now() - interval '1 hour' WHERE answered_at IS NULL",
    );
    const second = await slow.createWallet({ chain: 'MATIC' });
    breakOff();
    const outcome = await first.catch((error: unknown) => error);
    expect(outcome).toMatchObject({ name: 'ProviderError', retryable: true });
    expect(second.ref).toBeDefined();
  });
});
