import { z } from 'zod';
import type { Queryable } from '../db/database.ts';
import { defineJob, enqueue, enqueueAll, type Job } from '../jobs/define-job.ts';

const payload = z.object({ saga: z.string(), id: z.string() });

/** Runs one saga as far as it goes now. Each lane has its own slots, so that a silent party delays only its own lane. */
export function sagaJob(lane: string): Job<typeof payload> {
  return defineJob({ name: `saga_${lane}`, payload, maxAttempts: 25, lane });
}

export interface SagaCall {
  readonly saga: string;
  readonly id: string;
  readonly lane: string;
  readonly delayMs?: number;
}

/** Schedules a saga, now or later, in the caller's commit. */
export async function wakeSaga(tx: Queryable, { saga, id, lane, delayMs = 0 }: SagaCall): Promise<void> {
  await enqueue(tx, sagaJob(lane), { saga, id }, { key: id, delayMs, unlessSooner: delayMs > 0 });
}

/** Schedules many sagas of one lane, sorted by id so that concurrent callers cannot deadlock. */
export async function wakeSagas(
  tx: Queryable,
  lane: string,
  sagas: Iterable<{ readonly saga: string; readonly id: string }>,
): Promise<void> {
  const calls = new Map(Array.from(sagas, ({ saga, id }) => [id, { payload: { saga, id }, key: id }]));
  const ordered = [...calls.values()].toSorted((one, other) => (one.key < other.key ? -1 : 1));
  if (ordered.length > 0) await enqueueAll(tx, sagaJob(lane), ordered);
}
