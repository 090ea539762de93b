import { describe, expect, it } from 'vitest';
import { asMigration, compareSchema } from './schema-version.ts';

const first = asMigration({ version: 1, name: '001_first.sql', sql: 'CREATE TABLE a ();' });
const adds = asMigration({
  version: 2,
  name: '002_adds.sql',
  sql: '-- Adds b.\n-- serves_from: 1\nCREATE TABLE b ();',
});
const drops = asMigration({ version: 3, name: '003_drops.sql', sql: 'DROP TABLE a;' });
const later = asMigration({ version: 3, name: '003_later.sql', sql: '-- serves_from: 2\nCREATE TABLE c ();' });

describe('a release and the schema that it finds', () => {
  it('knows what is still to come', () => {
    expect(compareSchema([], [first, adds])).toEqual({ pending: [first, adds], isNewer: false });
    expect(compareSchema([first], [first, adds])).toEqual({ pending: [adds], isNewer: false });
    expect(compareSchema([first, adds], [first, adds])).toEqual({ pending: [], isNewer: false });
  });

  it('serves with a newer one that says so', () => {
    expect(compareSchema([first, adds], [first])).toEqual({ pending: [], isNewer: true });
    expect(compareSchema([first, adds, later], [first, adds])).toEqual({ pending: [], isNewer: true });
  });

  it.each([
    ['which does not say so', [first, { ...adds, servesFrom: adds.version }], [first], 2],
    ['of which one does not serve it', [first, adds, drops], [first], 3],
    ['that serves only from a later one on', [first, adds, later], [first], 3],
  ])('refuses a newer one %s', (_, applied, known, version) => {
    expect(() => compareSchema(applied, known)).toThrow(
      `The database has migration ${version} of a newer release, which this release cannot run on: use the newer release.`,
    );
  });

  it('refuses one that was built with something else under the same number', () => {
    expect(() => compareSchema([{ ...first, checksum: 'x' }], [first])).toThrow(
      'Migration 001_first.sql differs from the one',
    );
  });
});

it('no migration can serve from a later one on', () => {
  expect(() => asMigration({ version: 1, name: 'x', sql: '-- serves_from: 2\n' })).toThrow(
    'later than its own version',
  );
});
