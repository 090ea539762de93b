import { expect, test } from 'vitest';
import type { SettingDocs, SettingRow } from '../kernel/settings.ts';
import { features } from './features.ts';
import { serviceDocs, serviceVariables } from './service-variables.ts';

test('docs/settings.md is up to date; npm test -- src/app/settings-page.test.ts -u writes it', async () => {
  await expect(settingsPage()).toMatchFileSnapshot('../../docs/settings.md');
});

test('every setting is documented, and there are about forty', () => {
  const declared = features.flatMap(({ settings }) => settings ?? []);
  const rows = [...serviceDocs, ...declared.flatMap(({ docs }) => docs ?? [])].flatMap(({ rows }) => Object.keys(rows));
  const variables = [serviceVariables, ...declared.map(({ variables }) => variables)].flatMap((some) =>
    Object.keys(some),
  );
  expect(rows.flatMap((names) => names.split(', ')).toSorted()).toEqual(variables.toSorted());
  expect(rows.length).toBeLessThan(45);
});

/** docs/settings.md, from the declarations of all settings. */
function settingsPage(): string {
  const rooms = new Map<string, [string, SettingRow][]>();
  const all: SettingDocs[] = [...serviceDocs, ...features.flatMap(({ settings }) => settings?.docs ?? [])];
  for (const { room, rows } of all) rooms.set(room, [...(rooms.get(room) ?? []), ...Object.entries(rows)]);
  return [
    '# Settings',
    '',
    'All settings are environment variables. An empty variable counts as unset. The service reports unknown names when it starts,',
    'and live mode names every setting that is missing or unsafe. This page is generated from the declarations in the code:',
    'run `npm test -- src/app/settings-page.test.ts -u` after a change.',
    ...Array.from(
      rooms,
      ([room, rows]) =>
        `\n## ${room}\n\n| setting | default | what it does | when to change it |\n|---|---|---|---|\n${rows.map(toLine).join('\n')}`,
    ),
    '',
  ].join('\n');
}

function toLine([names, { usual, does, change }]: [string, SettingRow]): string {
  const setting = names
    .split(', ')
    .map((name) => `\`${name}\``)
    .join(', ');
  return `| ${setting} | ${usual} | ${does} | ${change} |`;
}
