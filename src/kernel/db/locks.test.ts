import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lockKinds, lockNumbers } from './locks.ts';

const root = join(import.meta.dirname, '../../..');

it('has no number and no word twice', () => {
  for (const values of [Object.values(lockNumbers), Object.values(lockKinds)]) {
    expect(new Set<unknown>(values).size).toBe(values.length);
  }
  // A word that begins with another one could name the same thing as it.
  const words = Object.values(lockKinds);
  for (const word of words) expect(words.filter((other) => other.startsWith(`${word} `))).toEqual([]);
});

it('is where alone PostgreSQL is asked for a lock by number', () => {
  const files = ['src', 'sandbox']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((name) => /\.(ts|sql)$/.test(name));
  const asking = files.filter((name) =>
    /advisory_(xact_)?(lock|unlock)|'advisory'/.test(readFileSync(join(root, name), 'utf8')),
  );
  expect(files.length).toBeGreaterThan(500);
  expect(asking.toSorted()).toEqual(['src/kernel/db/locks.test.ts', 'src/kernel/db/locks.ts']);
});
