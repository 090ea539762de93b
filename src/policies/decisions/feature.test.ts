import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { Given, Mode, Settings } from '../../kernel/settings.ts';
import { type DecisionSettings, decisions } from './feature.ts';

const settings = decisions.settings as Settings<DecisionSettings>;
const parse = (env: Given) => z.object(settings.variables).parse(env) as never;
const refused = (env: Given) => settings.refuseLive?.(parse(env), env) ?? [];
const anchorChain = (env: Given, mode: Mode) => settings.read(parse(env), mode).anchorChain;

test('roots are anchored in the sandbox, and in live mode only where the operator says so', () => {
  expect(anchorChain({}, 'sandbox')).toBe('MATIC');
  expect(anchorChain({}, 'live')).toBeUndefined();
  for (const mode of ['sandbox', 'live'] as const) {
    expect(anchorChain({ ANCHOR_CHAIN: 'none' }, mode)).toBeUndefined();
    expect(anchorChain({ ANCHOR_CHAIN: 'BASE' }, mode)).toBe('BASE');
  }
  expect(() => parse({ ANCHOR_CHAIN: 'DOGE' })).toThrow('must be one of');
});

test('live mode refuses a chain that is off, and wallets that cannot send a root', () => {
  const base = { ANCHOR_CHAIN: 'BASE', RPC_URLS_BASE: 'https://base.example.com' };
  expect(refused(base)).toEqual([]);
  expect(refused({ ...base, WALLET_PROVIDER: 'keys' })).toEqual([]);
  const circle = expect.stringMatching(/^ANCHOR_CHAIN needs WALLET_PROVIDER=keys/);
  expect(refused({ ...base, WALLET_PROVIDER: 'circle' })).toEqual([circle]);
  const off = expect.stringMatching(/^ANCHOR_CHAIN names BASE, which is off: set RPC_URLS_BASE$/);
  // The address of another chain does not help.
  for (const env of [{}, { RPC_URLS_MATIC: 'https://polygon.example.com' }])
    expect(refused({ ANCHOR_CHAIN: 'BASE', ...env })).toEqual([off]);
  expect(refused({ ANCHOR_CHAIN: 'BASE', WALLET_PROVIDER: 'circle' })).toEqual([circle, off]);
});

test('live mode says nothing about anchors that are off', () => {
  for (const env of [{}, { ANCHOR_CHAIN: 'none' }]) expect(refused({ ...env, WALLET_PROVIDER: 'circle' })).toEqual([]);
});

test('a root is signed every hour in live mode, and Retry-After never ends before that', () => {
  const { sealAt, untilSealed } = settings.read(parse({}), 'live');
  expect(sealAt).toBe('17 * * * *');
  const now = vi.spyOn(Date, 'now');
  for (const [at, seconds] of [
    ['2026-01-15T10:16:59.000Z', 11],
    ['2026-01-15T10:17:00.000Z', 3_610],
    ['2026-01-15T10:59:59.999Z', 1_031],
  ] as const) {
    now.mockReturnValue(Date.parse(at));
    expect(untilSealed(), at).toBe(seconds);
  }
  now.mockRestore();
});
