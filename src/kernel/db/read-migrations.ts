import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

const folder = new URL('../../migrations/', import.meta.url);

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
  /** The newest migration that a release must know to run on this schema. Defaults to its own version. */
  readonly servesFrom: number;
}

export async function readMigrations(): Promise<readonly Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const version = Number(name.slice(0, 3));
      if (version !== index + 1) throw new Error(`migrations must be numbered without gaps: ${name}`);
      return asMigration({ version, name, sql: await readFile(new URL(name, folder), 'utf8') });
    }),
  );
}

/**
 * A migration that older releases can run with, because it only adds what they do not read, declares it with a line
 * such as `-- serves_from: 22`. That line is part of the checksum and never changes.
 */
export function asMigration({ version, name, sql }: Pick<Migration, 'version' | 'name' | 'sql'>): Migration {
  const said = /^-- serves_from: (\d+)$/m.exec(sql)?.[1];
  const servesFrom = said === undefined ? version : Number(said);
  if (servesFrom > version)
    throw new Error(`${name} declares serves_from ${servesFrom}, which is later than its own version`);
  return { version, name, sql, checksum: createHash('sha256').update(sql).digest('hex'), servesFrom };
}
