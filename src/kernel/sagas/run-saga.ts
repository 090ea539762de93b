import type { Database } from '../db/database.ts';
import { handleJob, type JobHandler } from '../jobs/define-job.ts';
import { backOffMs, describeError } from '../jobs/error-reporter.ts';
import type { Logger } from '../log/logger.ts';
import { setNewest } from '../set-newest.ts';
import { Ended } from './checkpoint.ts';
import { activeStates, type Saga } from './define-saga.ts';
import { createSagaTroubles } from './saga-trouble.ts';
import { sagaJob, wakeSaga } from './wake-saga.ts';

/** `go_on`: run the next step now. `rest`: nothing to do. Otherwise run the same step again later. */
export type SagaStep = 'go_on' | 'rest' | SagaWait;

interface SagaWait {
  readonly lookAgainInMs: number;
  /** Shown to the operator. */
  readonly waitsFor: string;
  /** Not an ordinary wait: the log mentions it, once. */
  readonly isTrouble?: boolean;
}

interface SagaRow {
  readonly id: string;
  readonly status: string;
}

/** A saga and its code: one function for each active state. */
export interface SagaHandler<Row extends SagaRow = SagaRow> {
  readonly saga: Saga;
  find(id: string): Promise<Row | undefined>;
  readonly steps: Readonly<Record<string, (row: Row) => Promise<SagaStep>>>;
}

/** Any process may run each step any number of times, with the same result. */
export function handleSaga<State extends string, Row extends SagaRow>(
  saga: Saga<State>,
  find: (id: string) => Promise<Row | undefined>,
  steps: Readonly<Partial<Record<State, (row: Row) => Promise<SagaStep>>>>,
): SagaHandler {
  const active = activeStates(saga);
  if (active.length !== Object.keys(steps).length || !active.every((state) => state in steps)) {
    throw new TypeError(`a ${saga.name} needs a step for each of ${active.join(', ')}`);
  }
  return { saga, find, steps } as unknown as SagaHandler;
}

export interface SagaRunnerParts {
  readonly db: Database;
  readonly logger: Logger;
  readonly handlers: readonly SagaHandler[];
}

export interface SagaRunner {
  /** Runs one saga as far as it goes now, and schedules the next run if it is not finished. */
  advance(call: { readonly saga: string; readonly id: string }): Promise<void>;
  jobs(lanes: Iterable<string>): JobHandler[];
}

/** Exponential backoff. An error with a longer `retryAfterMs` prevails. */
const backOff = { from: 1_000, most: 60_000 };

/** The most sagas whose failures are counted. A forgotten one starts again with the shortest backoff. */
const mostFailing = 10_000;

export function createSagaRunner({ db, logger, handlers }: SagaRunnerParts): SagaRunner {
  const byName = new Map(handlers.map((handler) => [handler.saga.name, handler]));
  const troubles = createSagaTroubles(logger);
  const failures = new Map<string, number>();

  async function advance({ saga: name, id }: { readonly saga: string; readonly id: string }): Promise<void> {
    const handler = byName.get(name);
    if (handler === undefined) throw new Error(`there is no saga called ${name}`);
    for (;;) {
      const row = await handler.find(id);
      if (row === undefined) throw new Error(`there is no ${name} ${id}`);
      const step = handler.steps[row.status];
      const came = step === undefined ? 'rest' : await step(row).catch((error: unknown) => waitOut(id, error));
      if (came === 'go_on') continue;
      if (came === 'rest') failures.delete(id);
      else await wait(handler.saga, id, came);
      return;
    }
  }

  /** No error ends a saga: it is retried with backoff. */
  function waitOut(id: string, error: unknown): SagaWait {
    if (error instanceof Ended) throw error;
    const failed = (failures.get(id) ?? 0) + 1;
    setNewest(failures, id, failed, mostFailing);
    const askedForMs = (error as { retryAfterMs?: number }).retryAfterMs ?? 0;
    return {
      lookAgainInMs: Math.max(askedForMs, backOffMs(failed, backOff)),
      waitsFor: describeError(error),
      isTrouble: true,
    };
  }

  async function wait({ name, table, lane }: Saga, id: string, { lookAgainInMs, waitsFor, isTrouble }: SagaWait) {
    const { rows } = await db.query<{ lane: string }>(
      `WITH told AS (
         UPDATE ${table} SET waits_for = $2, updated_at = now()
          WHERE id = $1 AND finished_at IS NULL AND waits_for IS DISTINCT FROM $2)
       SELECT ${lane} AS lane FROM ${table} WHERE id = $1 AND finished_at IS NULL`,
      [id, waitsFor],
    );
    const [row] = rows;
    if (row === undefined) return;
    if (isTrouble === true) troubles.tell({ saga: name, id, lane: row.lane }, waitsFor);
    else failures.delete(id);
    await wakeSaga(db, { saga: name, id, lane: row.lane, delayMs: lookAgainInMs });
  }

  return {
    advance,
    jobs: (lanes) => Array.from(lanes, (lane) => handleJob(sagaJob(lane), advance)),
  };
}
