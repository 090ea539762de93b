import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

const folder = new URL('../../migrations/', import.meta.url);

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
  /** The newest migration that a release has to know to serve with this one too. Its own, unless it says otherwise. */
  readonly servesFrom: number;
}

/** All that this release knows, in order. */
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
 * A migration that an older release can go on with, because it only adds what that one does not look at, says so in a line of its own:
 * `-- serves_from: 22`. Everything else about it is part of its checksum as well, and so never changes.
 */
export function asMigration({ version, name, sql }: Pick<Migration, 'version' | 'name' | 'sql'>): Migration {
  const said = /^-- serves_from: (\d+)$/m.exec(sql)?.[1];
  const servesFrom = said === undefined ? version : Number(said);
  if (servesFrom > version) throw new Error(`${name} cannot serve from ${servesFrom} on: that is later than itself`);
  return { version, name, sql, checksum: createHash('sha256').update(sql).digest('hex'), servesFrom };
}
