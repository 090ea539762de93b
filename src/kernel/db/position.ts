import { type Database, onlyRow } from './database.ts';

/** How far the write-ahead log of the primary had come. */
export interface Position {
  readonly lsn: bigint;
  /** Of the primary's timeline. A server that lacks it has another history, in which positions mean something else. */
  readonly mark: string;
}

export interface Positions {
  /** Everything that was committed before this call is at or below the position that it returns. */
  ask(): Promise<Position>;
  readonly newest: Position | undefined;
}

/**
 * Concurrent callers share a question, but only one that is sent after they called: an answer under way may be older than what they
 * have been told. So the primary gets one question at a time from each process, however many callers there are.
 */
export function createPositions(db: Database): Positions {
  let newest: Position | undefined;
  let underWay: Promise<unknown> | undefined;
  let next: Promise<Position> | undefined;

  async function begin(): Promise<Position> {
    await underWay?.catch(() => {});
    const asked = readPosition(db);
    underWay = asked;
    next = undefined;
    newest = await asked;
    return newest;
  }

  return {
    ask() {
      next ??= begin();
      return next;
    },
    get newest() {
      return newest;
    },
  };
}

async function readPosition(db: Database): Promise<Position> {
  const { lsn, mark } = await readMarked(db);
  if (mark !== null) return { lsn, mark };
  await db.query(
    `INSERT INTO timelines (system, timeline) SELECT ${system}, ${timeline} ON CONFLICT (system, timeline) DO NOTHING`,
  );
  const marked = await readMarked(db);
  if (marked.mark === null) throw new Error('the primary has changed while its timeline was marked');
  return { lsn: marked.lsn, mark: marked.mark };
}

const system = '(SELECT system_identifier FROM pg_control_system())';
const timeline = 'left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)';

/** A commit is visible once it is flushed; where the operator has chosen not to wait for that, once it is inserted. */
async function readMarked(db: Database): Promise<{ readonly lsn: bigint; readonly mark: string | null }> {
  return onlyRow(
    await db.query<{ lsn: bigint; mark: string | null }>(
      `SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
                ELSE pg_current_wal_flush_lsn() END - '0/0' AS lsn,
              (SELECT mark::text FROM timelines WHERE system = ${system} AND timeline = ${timeline}) AS mark`,
    ),
  );
}
