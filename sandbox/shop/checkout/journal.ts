import { existsSync, mkdirSync, readFileSync, renameSync, truncateSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A change of one entry; null deletes it. */
export type Change<Tables> = {
  [Table in keyof Tables & string]: readonly [table: Table, id: string, value: Tables[Table] | null];
}[keyof Tables & string];

/** Entries by table and id, stored as a log of changes. */
export interface Journal<Tables> {
  get<Table extends keyof Tables & string>(table: Table, id: string): Tables[Table] | undefined;
  /** In the order of their first write. */
  all<Table extends keyof Tables & string>(table: Table): Iterable<readonly [id: string, value: Tables[Table]]>;
  count(table: keyof Tables & string): number;
  /**
   * Applies all changes or none. They are visible at once and durable, together with all earlier ones, when the promise resolves.
   * Only then may a client learn of them.
   */
  commit(changes: readonly Change<Tables>[]): Promise<void>;
  close(): Promise<void>;
}

interface Waiting {
  readonly line: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Below this size compaction is not worthwhile. */
const fewLines = 1_000;

/** Opens a journal. Without a file it exists in memory only. */
export async function openJournal<Tables>(file: string | undefined): Promise<Journal<Tables>> {
  const tables = new Map<string, Map<string, unknown>>();
  const tableOf = (name: string) => {
    const table = tables.get(name) ?? new Map<string, unknown>();
    tables.set(name, table);
    return table;
  };
  const apply = (changes: readonly (readonly [string, string, unknown])[]) => {
    for (const [table, id, value] of changes) {
      if (value === null) tableOf(table).delete(id);
      else tableOf(table).set(id, value);
    }
  };

  const lines = file === undefined ? [] : readLines(file);
  for (const line of lines) apply(JSON.parse(line));
  const alive = [...tables].flatMap(([table, entries]) => [...entries].map(([id, value]) => [table, id, value]));
  if (file !== undefined && lines.length > Math.max(fewLines, 4 * alive.length)) await writeAnew(file, alive);

  let handle: FileHandle | undefined;
  let waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;
  /** After a failed write the end of the file is unknown, so nothing more is written. */
  let broken: unknown;

  /** While one batch is written, further lines gather for the next. */
  async function write(path: string): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        if (broken !== undefined) throw broken;
        handle ??= await openDurably(path);
        await handle.appendFile(batch.map(({ line }) => line).join(''));
        await handle.datasync();
        for (const { resolve } of batch) resolve();
      } catch (error) {
        broken = error;
        for (const { reject } of batch) reject(error);
      }
    }
    writing = undefined;
  }

  return {
    get: (table, id) => tables.get(table)?.get(id) as never,
    all: (table) => (tables.get(table) ?? new Map()) as never,
    count: (table) => tables.get(table)?.size ?? 0,

    commit(changes) {
      if (broken !== undefined) return Promise.reject(broken);
      apply(changes);
      if (file === undefined) return Promise.resolve();
      return new Promise<void>((resolve, reject) => {
        waiting.push({ line: `${JSON.stringify(changes)}\n`, resolve, reject });
        writing ??= write(file);
      });
    },

    async close() {
      await writing;
      await handle?.close();
    },
  };
}

/** A line without an end was cut off by a crash. No client learned of it, so it is dropped. */
function readLines(file: string): readonly string[] {
  if (!existsSync(file)) return [];
  const bytes = readFileSync(file);
  const end = bytes.lastIndexOf('\n') + 1;
  if (end < bytes.length) truncateSync(file, end);
  return bytes.toString('utf8', 0, end).split('\n').slice(0, -1);
}

/** A new file is durable only after its folder is synced. */
async function openDurably(file: string): Promise<FileHandle> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const handle = await open(file, 'a', 0o600);
  await syncFolder(file);
  return handle;
}

async function syncFolder(file: string): Promise<void> {
  const folder = await open(dirname(file));
  await folder.sync();
  await folder.close();
}

/** Compacts the journal into a new file that replaces the old one when complete. */
async function writeAnew(file: string, alive: readonly unknown[]): Promise<void> {
  const next = `${file}.next`;
  const handle = await open(next, 'w', 0o600);
  await handle.writeFile(alive.map((change) => `${JSON.stringify([change])}\n`).join(''));
  await handle.sync();
  await handle.close();
  renameSync(next, file);
  await syncFolder(file);
}
