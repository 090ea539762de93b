import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HeldWallet, TokenSend, WalletProvider } from '../../../../src/custody/wallets/provider.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { chains } from '../../../../src/money/catalogue.ts';
import { fast, useCircle } from '../../../emulators/circle/connect.ts';
import type { Trouble } from '../../../emulators/circle/faults.ts';
import { complaintsAbout } from '../../../emulators/circle/published.ts';
import { useDatabase } from '../../../support/database.ts';

const database = useDatabase();
const circle = useCircle(database);
const to = '0x000000000000000000000000000000000000dEaD';
const onTransfers = ({ path }: { path: string }) => path.endsWith('/transfer');

let wallet: HeldWallet;
let from = 0;

beforeEach(async () => {
  wallet = { ...(await circle.provider.createWallet({ chain: 'MATIC' })), chain: 'MATIC' };
  from = circle.emulator.exchanges.length;
});
afterEach(() => circle.emulator.faults.clear());
afterAll(() => expect(complaintsAbout(circle.emulator.exchanges)).toEqual([]));

const newSend = (): TokenSend => ({
  from: wallet,
  token: chains.MATIC.tokens.USDC,
  to,
  atomic: 1_500_000n,
  idempotencyKey: randomUUID(),
});
const transfers = () => circle.emulator.exchanges.slice(from).filter(onTransfers);
const sentFrom = ({ ref }: HeldWallet) =>
  [...circle.emulator.transactions.all.values()].filter(({ wallet: { id } }) => id === ref);
const outcome = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);
const sinkOf = (lines: string[]) =>
  new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });

describe('trouble that passes', () => {
  it.each<[string, Trouble]>([
    ['the answer is lost', { how: 'lose-answer' }],
    ['the connection breaks', { how: 'drop' }],
    ['Circle fails', { how: 'server-error' }],
    ['a gateway fails', { how: 'server-error', status: 503 }],
    ['Circle fails without a reason', { how: 'refuse', status: 400, code: -1 }],
    ['Circle has had enough', { how: 'rate-limit', retryAfterSeconds: 0 }],
    ['somebody in between answers', { how: 'nonsense' }],
  ])('is borne when %s, and one transfer is made', async (_, trouble) => {
    circle.emulator.faults.next({ trouble, times: 2, on: onTransfers });
    const send = newSend();
    const ref = await circle.provider.sendToken(send);
    expect(transfers()).toHaveLength(3);
    expect(sentFrom(wallet).map(({ id }) => id)).toEqual([ref]);
    expect(await circle.provider.sendToken(send)).toBe(ref);
    expect(sentFrom(wallet)).toHaveLength(1);
  });

  it('uses the same key and another sealed secret for each try', async () => {
    circle.emulator.faults.next({ trouble: { how: 'lose-answer' }, times: 2, on: onTransfers });
    const send = newSend();
    await circle.provider.sendToken(send);
    const bodies = transfers().map(({ request }) => request as Record<string, string>);
    expect(new Set(bodies.map(({ idempotencyKey }) => idempotencyKey))).toEqual(new Set([send.idempotencyKey]));
    expect(new Set(bodies.map(({ entitySecretCiphertext }) => entitySecretCiphertext)).size).toBe(3);
  });

  it('ends a try that gets no answer, closes its connection, and goes on', { tags: ['matrix'] }, async () => {
    const hasty = await circle.connect({ limits: { ...fast, timeoutMs: 4_000 } });
    await hasty.createWallet({ chain: 'MATIC' });
    from = circle.emulator.exchanges.length;
    circle.emulator.faults.next({ trouble: { how: 'hang' }, on: onTransfers });
    await hasty.sendToken(newSend());
    expect(sentFrom(wallet)).toHaveLength(1);
    await expect.poll(() => transfers().map(({ abandoned }) => abandoned)).toEqual([true, false]);
  });

  it('waits as long as Circle asks it to, and lets nobody else through meanwhile', async () => {
    const lines: string[] = [];
    const patient = await circle.connect({ logger: createLogger('debug', sinkOf(lines)) });
    await patient.createWallet({ chain: 'MATIC' });
    from = circle.emulator.exchanges.length;
    circle.emulator.faults.next({ trouble: { how: 'rate-limit', retryAfterSeconds: 1 }, on: onTransfers });
    const first = patient.sendToken(newSend());
    // By then it has heard that it is to wait.
    await expect.poll(() => lines.some((line) => line.includes('Circle is asked again'))).toBe(true);
    const second = patient.sendToken(newSend());
    await Promise.all([first, second]);
    const [refused, ...others] = transfers().map(({ at }) => at);
    expect(others).toHaveLength(2);
    for (const at of others) expect(at - (refused ?? 0)).toBeGreaterThan(950);
  });

  it('is told to the caller as such when it does not pass, and the same key succeeds later', async () => {
    const send = newSend();
    circle.emulator.faults.next({ trouble: { how: 'server-error' }, times: 4, on: onTransfers });
    expect(await outcome(circle.provider.sendToken(send))).toMatchObject({
      name: 'ProviderError',
      code: 'provider_trouble',
      retryable: true,
    });
    expect(transfers()).toHaveLength(4);
    await circle.provider.sendToken(send);
    expect(sentFrom(wallet)).toHaveLength(1);
  });

  it('does not wait longer than a call may take', async () => {
    circle.emulator.faults.next({ trouble: { how: 'rate-limit', retryAfterSeconds: 90 }, on: onTransfers });
    const other = await circle.connect();
    expect(await outcome(other.sendToken(newSend()))).toMatchObject({
      code: 'provider_busy',
      retryable: true,
      retryAfterMs: 90_000,
    });
    // Who comes next is told at once.
    expect(await outcome(other.sendToken(newSend()))).toMatchObject({ code: 'provider_busy', retryable: true });
    expect(transfers()).toHaveLength(1);
  });
});

describe('a refusal', () => {
  it.each([
    { status: 400, code: 155201, meaning: 'insufficient_funds', retryable: false },
    { status: 400, code: 155204, meaning: 'insufficient_gas', retryable: true },
    { status: 400, code: 155208, meaning: 'rejected', retryable: false },
    { status: 400, code: 155219, meaning: 'invalid_destination', retryable: false },
    { status: 400, code: 155258, meaning: 'insufficient_funds', retryable: false },
    { status: 400, code: 155264, meaning: 'queue_full', retryable: true },
    { status: 404, code: 156001, meaning: 'wallet_not_found', retryable: false },
    { status: 400, code: 156013, meaning: 'provider_misconfigured', retryable: true },
    { status: 401, code: 401, meaning: 'provider_misconfigured', retryable: true },
    { status: 403, code: 3, meaning: 'provider_misconfigured', retryable: true },
    { status: 400, code: 2, meaning: 'rejected', retryable: false },
    { status: 400, code: 199999, meaning: 'rejected', retryable: false },
  ])('$code is told as $meaning, after one try', async ({ status, code, meaning, retryable }) => {
    circle.emulator.faults.next({ trouble: { how: 'refuse', status, code }, on: onTransfers });
    const error = await outcome(circle.provider.sendToken(newSend()));
    expect(error).toMatchObject({ name: 'ProviderError', code: meaning, retryable });
    expect((error as Error).message).toMatch(/^[A-Z].*\.$/);
    expect(transfers()).toHaveLength(1);
  });

  it('after a try without an answer does not prove that nothing was sent', async () => {
    circle.emulator.faults.next({ trouble: { how: 'lose-answer' }, on: onTransfers });
    circle.emulator.faults.next({ trouble: { how: 'refuse', status: 400, code: 155201 }, on: onTransfers });
    const send = newSend();
    expect(await outcome(circle.provider.sendToken(send))).toMatchObject({
      code: 'insufficient_funds',
      retryable: true,
    });
    const [sent] = sentFrom(wallet);
    expect(await circle.provider.sendToken(send)).toBe(sent?.id);
  });

  it('of a wrong secret is the operator’s to mend', async () => {
    const mistaken = await circle.connect({ entitySecret: '0'.repeat(64) });
    expect(await outcome(mistaken.createWallet({ chain: 'MATIC' }))).toMatchObject({
      code: 'provider_misconfigured',
      retryable: true,
      message: expect.stringContaining('CIRCLE_ENTITY_SECRET'),
    });
  });

  it('of a token that is not ours never reaches Circle', async () => {
    const send = { ...newSend(), token: chains.ETH.tokens.USDC };
    expect(await outcome(circle.provider.sendToken(send))).toMatchObject({ code: 'unknown_token', retryable: false });
    expect(transfers()).toEqual([]);
  });
});

describe('our secrets', () => {
  it('are in no error and in no log line, whatever goes wrong', async () => {
    const { apiKey, entitySecret } = circle.emulator;
    const lines: string[] = [];
    const logger = createLogger('trace', sinkOf(lines));
    const limits = { ...fast, timeoutMs: 200, tries: 2 };
    const provider = await circle.connect({ logger, limits });
    const nobody = await circle.connect({ logger, limits, baseUrl: 'http://127.0.0.1:9' });
    const errors: unknown[] = [await outcome(nobody.sendToken(newSend()))];
    const troubles: Trouble[] = [
      { how: 'drop' },
      { how: 'hang' },
      { how: 'server-error' },
      { how: 'nonsense' },
      { how: 'rate-limit' },
      // What somebody echoes back to us is theirs, but our key is in it.
      { how: 'refuse', status: 400, code: 2, message: `invalid: Bearer ${apiKey} with ${entitySecret}` },
      { how: 'refuse', status: 401, code: 401, message: apiKey },
    ];
    for (const trouble of troubles) {
      circle.emulator.faults.next({ trouble, times: 2 });
      errors.push(await outcome(provider.sendToken(newSend())));
      circle.emulator.faults.clear();
    }
    for (const error of errors) {
      expect(error).toMatchObject({ name: 'ProviderError' });
      logger.error({ err: error }, 'a transfer failed');
    }
    const everything = inspect(errors, { depth: 20, showHidden: true }) + lines.join('') + errors.map(String).join('');
    expect(lines.length).toBeGreaterThanOrEqual(errors.length);
    expect(everything).not.toContain(apiKey);
    expect(everything).not.toContain(apiKey.split(':')[2]);
    expect(everything).not.toContain(entitySecret);
  });
});

describe('Circle’s limits', () => {
  it('are kept: no more than 5 writes and 20 reads a second', async () => {
    const ref = await circle.provider.sendToken(newSend());
    const careful: WalletProvider = await circle.connect({ limits: {} });
    from = circle.emulator.exchanges.length;
    const started = performance.now();
    await Promise.all([
      ...Array.from({ length: 12 }, () => careful.sendToken(newSend())),
      ...Array.from({ length: 50 }, () => careful.lookUp('MATIC', ref)),
    ]);
    const seen = circle.emulator.exchanges.slice(from);
    const timesOf = (kind: 'reads' | 'writes') =>
      seen.filter(({ method }) => (method === 'GET') === (kind === 'reads')).map(({ at }) => at - started);
    // However slow the machine is, none may arrive before its turn.
    const [writes, reads] = [timesOf('writes'), timesOf('reads')];
    expect(writes).toHaveLength(12);
    for (const [place, at] of writes.entries()) expect(at).toBeGreaterThanOrEqual(Math.floor(place / 5) * 1_000);
    // One read more than was asked for: Circle's public key.
    expect(reads).toHaveLength(51);
    for (const [place, at] of reads.entries()) expect(at).toBeGreaterThanOrEqual(Math.floor(place / 20) * 1_000);
  });

  it('turn a flood away at once, to be asked again', async () => {
    const careful = await circle.connect({ limits: { maxWaitMs: 1_100 } });
    await careful.createWallet({ chain: 'MATIC' });
    const started = performance.now();
    const results = await Promise.allSettled(Array.from({ length: 300 }, () => careful.sendToken(newSend())));
    const turnedAway = results.filter(({ status }) => status === 'rejected');
    // Before anything is sealed: no more than can have their turn and their answer in time.
    expect(turnedAway.length).toBeGreaterThan(250);
    for (const result of turnedAway) {
      expect(result).toMatchObject({ reason: { code: 'provider_busy', retryable: true } });
    }
    const passed = results.length - turnedAway.length;
    expect(sentFrom(wallet)).toHaveLength(passed);
    expect(passed).toBeGreaterThanOrEqual(5);
    // However long the sealing takes on a slow machine, there are five turns a second.
    expect(passed).toBeLessThanOrEqual(5 * Math.ceil((performance.now() - started) / 1_000));
  });
});
