import type { ServerContext } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { createWaiting, getOperation, waitFor } from './follow.ts';
import type { LookUp } from './operations.ts';

const withdrawal: LookUp = {
  operationId: 'getWithdrawal',
  method: 'GET',
  path: '/circle/withdrawals/{txId}',
  parameter: 'txId',
  waits: false,
  final: new Set(['complete']),
};

/** Answers with these states, one after the other; the last one stays. */
function apiWith(...states: string[]) {
  let looks = 0;
  const following = {
    lookUps: new Map([['wdr', [withdrawal]]]),
    call: async () => ({ status: 200, body: { status: states[Math.min(looks++, states.length - 1)] } }),
    signal: new AbortController().signal,
  };
  return { following, looks: () => looks };
}

const told: unknown[] = [];
const mcpReq = {
  _meta: { progressToken: 7 },
  notify: async ({ params }: { params?: { message?: string } }) => void told.push(params?.message),
} as unknown as ServerContext['mcpReq'];

const id = 'wdr_01kp3v2m8rfk2s6y0e6v9q4w1x';

test('waits until the state is final, and tells each change', async () => {
  const { following } = apiWith('queued', 'sending', 'complete');
  const waiting = createWaiting(new AbortController().signal);
  const result = await waitFor(following, { id }, { waiting, account: '1', mcpReq });
  expect(result.structuredContent).toEqual({ status: 'complete', final: true });
  expect(told).toEqual(['queued', 'sending']);
});

test('of one account ten wait at a time, and a stopping service answers all of them', async () => {
  const stopping = new AbortController();
  const waiting = createWaiting(stopping.signal);
  const { following, looks } = apiWith('queued');
  const wait = (account: string) => waitFor(following, { id, timeoutSeconds: 60 }, { waiting, account, mcpReq });
  const ten = Array.from({ length: 10 }, () => wait('1'));
  expect((await wait('1')).structuredContent).toEqual({ status: 'queued', final: false });
  const other = wait('2');
  const before = looks();
  expect(before).toBeLessThanOrEqual(12);
  stopping.abort();
  for (const result of await Promise.all([...ten, other])) {
    expect(result.structuredContent).toEqual({ status: 'queued', final: false });
  }
  expect((await wait('1')).structuredContent).toEqual({ status: 'queued', final: false });
});

test('does not ask without a pause where the API could wait, and does not', async () => {
  const { following, looks } = apiWith('pending');
  const lookUps = new Map([['wdr', [{ ...withdrawal, waits: true }]]]);
  const waiting = createWaiting(new AbortController().signal);
  await waitFor({ ...following, lookUps }, { id, timeoutSeconds: 2 }, { waiting, account: '1', mcpReq });
  expect(looks()).toBeLessThanOrEqual(4);
});

test('refuses what is no id or no time', async () => {
  const { following } = apiWith('queued');
  const waiting = createWaiting(new AbortController().signal);
  for (const given of [{}, { id: 7 }, { id: 'x' }, { id: 'constructor_x' }]) {
    expect(await getOperation(following, given)).toMatchObject({ isError: true });
  }
  for (const timeoutSeconds of [0, 61, '30', Number.NaN]) {
    const result = await waitFor(following, { id, timeoutSeconds }, { waiting, account: '1', mcpReq });
    expect(result).toMatchObject({ isError: true, structuredContent: { errors: [{ path: 'timeoutSeconds' }] } });
  }
});
