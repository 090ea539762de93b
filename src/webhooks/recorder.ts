import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../kernel/clock.ts';
import { isUnavailable } from '../kernel/db/database.ts';
import { createTrouble } from '../kernel/jobs/trouble.ts';
import type { Logger } from '../kernel/log/logger.ts';
import type { Attempted } from './record-results.ts';

export interface RecorderOptions {
  write(results: readonly Attempted[]): Promise<void>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** After this time the lease has expired, and the result no longer counts. */
  readonly keepMs: number;
}

export interface Recorder {
  /** Results not recorded yet. */
  readonly waiting: number;
  add(result: Attempted): void;
  /** Resolves when everything is recorded, or after `graceMs`. */
  drain(graceMs: number): Promise<void>;
}

const mostPerWrite = 200;
const gatherMs = 10;
const retryMs = 250;

/** Collects results while the previous batch is written, so that under load one commit records many. */
export function createRecorder({ write, logger, clock, keepMs }: RecorderOptions): Recorder {
  const trouble = createTrouble(logger, {}, 'delivery results cannot be recorded');
  const gathered: { readonly result: Attempted; readonly until: number }[] = [];
  let writing: Promise<void> | undefined;
  let ended = false;

  async function writeAll(): Promise<void> {
    if (gathered.length < mostPerWrite) await sleep(gatherMs);
    while (gathered.length > 0 && !ended) {
      const batch = gathered.slice(0, mostPerWrite).filter(({ until }) => clock.now() <= until);
      const taken = Math.min(gathered.length, mostPerWrite);
      try {
        if (batch.length > 0) await write(batch.map(({ result }) => result));
        gathered.splice(0, taken);
        trouble.over();
      } catch (error) {
        trouble.report(error);
        if (isUnavailable(error)) await sleep(retryMs);
        else await writeOneByOne(gathered.splice(0, taken));
      }
    }
    writing = undefined;
  }

  /** A result that the database rejects must not block the others. */
  async function writeOneByOne(batch: readonly { readonly result: Attempted }[]): Promise<void> {
    for (const { result } of batch) {
      await write([result]).catch((err: unknown) => {
        logger.error({ err, delivery: result.delivery.id }, 'a delivery result could not be recorded');
      });
    }
  }

  return {
    get waiting() {
      return gathered.length;
    },
    add(result) {
      gathered.push({ result, until: clock.now() + keepMs });
      writing ??= writeAll();
    },
    async drain(graceMs) {
      let timer: NodeJS.Timeout | undefined;
      const tooLate = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, graceMs);
      });
      await Promise.race([writing, tooLate]).finally(() => clearTimeout(timer));
      ended = true;
    },
  };
}
