import { expect, test } from 'vitest';
import { ForeignSchema } from '../kernel/db/schema-version.ts';
import { explainForeignSchema } from './explain-foreign-schema.ts';
import { readSettings } from './read-settings.ts';

const foreign = new ForeignSchema('Migration 001_kernel.sql differs from the one that this database was created with.');
const told = (env: Readonly<Record<string, string>>) => String(explainForeignSchema(foreign, readSettings(env)));

test('a sandbox of another version is told how to start over, wherever it is', () => {
  expect(told({ DATA_DIR: '/data/play' })).toContain('delete it with "DATA_DIR=/data/play npx paywright reset"');
  const own = told({ DATABASE_URL: 'postgres://ada:hunter2@127.0.0.1/play' });
  expect(own).toContain('drop that database and create it again');
  expect(own).not.toContain('hunter2');
});

test('any other error stays what it is', () => {
  const other = new Error('the disk is full');
  expect(explainForeignSchema(other, readSettings({}))).toBe(other);
});
