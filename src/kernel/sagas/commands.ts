import type { Command } from 'commander';
import type { Database, Queryable } from '../db/database.ts';
import { defineHook } from '../hook.ts';
import { Refusal } from '../refusal.ts';
import type { Saga } from './define-saga.ts';
import { listOpenSagas, type OpenSaga } from './list-sagas.ts';
import { wakeSaga } from './wake-saga.ts';

/** Lines that another room adds to `paywright sagas show`. */
export type SagaDetails = (db: Queryable, sagaId: string) => Promise<string[]>;

export const sagaDetails = defineHook<SagaDetails>();

export interface SagaCommandTools {
  withDatabase(work: (db: Database) => Promise<void>): Promise<void>;
  readonly sagas: readonly Saga[];
  readonly details: SagaDetails;
  say(line: string): void;
}

export function addSagaCommands(program: Command, { withDatabase, sagas, details, say }: SagaCommandTools): void {
  const command = program.command('sagas').description('open sagas: withdrawals, sweeps, bridges, moves');

  command
    .command('list')
    .description('list open sagas, stuck ones first')
    .option('--stuck', 'only stuck sagas')
    .action(({ stuck = false }: { stuck?: boolean }) =>
      withDatabase(async (db) => {
        const open = (await listOpenSagas(db, sagas)).filter((one) => one.stuck || !stuck);
        for (const one of open) say(describe(one));
        if (open.length === 0) say(stuck ? 'Nothing is stuck.' : 'Nothing is under way.');
      }),
    );

  command
    .command('show <id>')
    .description('show one saga, open or finished, with its steps on chains')
    .action((id: string) =>
      withDatabase(async (db) => {
        for (const line of await show(db, { sagas, details }, id)) say(line);
      }),
    );

  command
    .command('resume <id>')
    .description('run a saga now instead of at its next scheduled time')
    .action((id: string) =>
      withDatabase(async (db) => {
        const [open] = await listOpenSagas(db, sagas, { id });
        if (open === undefined) throw new Refusal(`There is no saga ${id} under way.`);
        const { saga, lane, status } = open;
        if (sagas.find(({ name }) => name === saga)?.states[status]?.rests) {
          throw new Refusal(`${id} is ${status}: ${open.waitsFor}.`);
        }
        await wakeSaga(db, { saga, id, lane });
        say(`${id} runs as soon as a worker is free.`);
      }),
    );
}

function describe({ saga, id, status, about, stuck, since, waitsFor }: OpenSaga): string {
  const age = ageText(Date.now() - since.getTime());
  return `${stuck ? 'STUCK ' : ''}${saga} ${id}   ${status} for ${age}   ${about}   waits for: ${waitsFor}`;
}

const units = [
  [24 * 60 * 60_000, 'd'],
  [60 * 60_000, 'h'],
  [60_000, 'min'],
] as const;

function ageText(ms: number): string {
  const [unit, name] = units.find(([length]) => ms >= length) ?? [1_000, 's'];
  return `${Math.max(0, Math.floor(ms / unit))} ${name}`;
}

async function show(
  db: Database,
  { sagas, details }: Pick<SagaCommandTools, 'sagas' | 'details'>,
  id: string,
): Promise<string[]> {
  for (const saga of sagas) {
    const { rows } = await db.query<{ status: string; about: string; waitsFor: string | null; row: object }>(
      `SELECT status, ${saga.about} AS about, waits_for, to_jsonb(${saga.table}) AS row FROM ${saga.table} WHERE id = $1`,
      [id],
    );
    const [found] = rows;
    if (found === undefined) continue;
    const { status, about, waitsFor } = found;
    return [
      `${saga.name} ${id}: ${about}`,
      `${status}: ${saga.states[status]?.meaning ?? 'a state that this release does not know'}`,
      ...(waitsFor === null ? [] : [`waits for: ${waitsFor}`]),
      ...Object.entries(found.row).map(([column, value]) => `  ${column.padEnd(16)} ${toText(value)}`),
      ...(await details(db, id)),
    ];
  }
  throw new Refusal(`There is no saga ${id}.`);
}

function toText(value: unknown): string {
  if (typeof value === 'object' && value !== null) return JSON.stringify(value);
  return String(value ?? '-');
}
