import { expect, test } from 'vitest';
import type { Notifier } from '../accounts/messages/notifier.ts';
import type { Feature } from '../kernel/feature.ts';
import { defineHook } from '../kernel/hook.ts';
import { defineSettings } from '../kernel/settings.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { hooksOf, type ListedFeature } from './listed-feature.ts';
import { readSettings } from './read-settings.ts';

interface Crystal {
  readonly ball: string;
}

test('a feature is listed only if the service has the parts that it names', () => {
  const modest: Feature<{ serving: { readonly ledger: Ledger } }> = { name: 'modest' };
  const oracle: Feature<{ serving: { readonly crystal: Crystal } }> = { name: 'oracle' };
  const mistaken: Feature<{ working: { readonly ledger: string } }> = { name: 'mistaken' };
  const tooSoon: Feature<{ serving: { readonly notifier: Notifier } }> = { name: 'too-soon' };
  const atWork: Feature<{ working: { readonly notifier: Notifier } }> = { name: 'at-work' };
  const measured: Feature<{ metrics: { readonly notifier: Notifier } }> = { name: 'measured' };
  const shown: Feature<{ pages: { readonly crystal: Crystal } }> = { name: 'shown' };
  const commanded: Feature<{ commands: { readonly crystal: Crystal } }> = { name: 'commanded' };
  const list: readonly ListedFeature[] = [
    modest,
    atWork,
    // @ts-expect-error the service has no crystal
    oracle,
    // @ts-expect-error the ledger is no text
    mistaken,
    // @ts-expect-error a process that answers requests sends no messages
    tooSoon,
    // @ts-expect-error metrics are collected in every process, and not every one sends messages
    measured,
    // @ts-expect-error nor is there a crystal for pages
    shown,
    // @ts-expect-error nor for commands
    commanded,
  ];
  expect(list).toHaveLength(8);
});

test('a feature is given nothing that it does not name', () => {
  const greedy: Feature<{ serving: { readonly ledger: Ledger } }> = {
    name: 'greedy',
    // @ts-expect-error it has named the ledger only
    routes: ({ secrets }) => [secrets],
  };
  expect(greedy.name).toBe('greedy');
});

test('a feature reads its own settings and no others', () => {
  const settings = defineSettings({ variables: {}, read: () => ({ colour: 'red' }) });
  const painter: Feature<{ settings: { readonly colour: string } }> = { name: 'painter', settings };
  // @ts-expect-error its settings hold no size
  const tailor: Feature<{ settings: { readonly size: number } }> = { name: 'tailor', settings };
  const config = readSettings({}, [painter, tailor]);
  expect(config.settings.get('painter')).toEqual({ colour: 'red' });
});

test('hooks are gathered from all features, in the order of the list', async () => {
  const hook = defineHook<(word: string) => Promise<string[]>>();
  const first: Feature = { name: 'first', hooks: [hook.on(async (word) => [`first ${word}`])] };
  const second: Feature = { name: 'second', hooks: [hook.on(async (word) => [`second ${word}`])] };
  expect(await hooksOf([second, { name: 'none' }, first])(hook)('thing')).toEqual(['second thing', 'first thing']);
});
