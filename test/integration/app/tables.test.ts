import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { dailyCaps } from '../../../src/kernel/daily-caps/count-today.ts';
import { useStartedDatabase } from '../../support/service.ts';

const { db } = useStartedDatabase();

const page = readFileSync(new URL('../../../docs/security.md', import.meta.url), 'utf8');
const chapter = page.split('\n## What fills the disk\n')[1]?.split(/\n##? /)[0] ?? '';
const rows = chapter.split('\n').filter((line) => line.startsWith('| `'));

/** The tables that the first column of a row names. */
const namedIn = (row: string) => [...(row.split('|')[1] ?? '').matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name);
const named = rows.flatMap(namedIn);

test('every table of the database is in docs/security.md with what bounds it, once, and no other', async () => {
  const { rows: tables } = await db.query<{ name: string }>(
    `SELECT CASE schemaname WHEN 'public' THEN tablename ELSE schemaname || '.' || tablename END AS name
       FROM pg_tables t JOIN pg_class c ON c.oid = format('%I.%I', schemaname, tablename)::regclass
      WHERE schemaname IN ('public', 'ledger') AND NOT c.relispartition ORDER BY 1`,
  );
  expect(tables.length).toBeGreaterThan(70);
  expect(named.toSorted()).toEqual(tables.map(({ name }) => name).toSorted());
});

test('every schema is', async () => {
  const { rows: schemas } = await db.query<{ name: string }>(
    `SELECT DISTINCT schemaname AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  expect(schemas.map(({ name }) => name).filter((name) => !chapter.includes(`\`${name}`) && name !== 'public')).toEqual(
    [],
  );
});

test('each row says who writes it, how much, for how long and what bounds it', () => {
  for (const row of rows) {
    const cells = row.split('|').slice(1, -1);
    expect(cells, row).toHaveLength(5);
    expect(
      cells.filter((cell) => cell.trim() === ''),
      row,
    ).toEqual([]);
  }
});

test('every cap is there with its number', () => {
  for (const [kind, { most }] of Object.entries(dailyCaps)) {
    expect(chapter, kind).toContain(`${most.toLocaleString('en-US')} \`${kind}\``);
  }
});
