import { type ChildProcess, fork } from 'node:child_process';
import { monotonicClock } from '../clock.ts';
import type { Logger } from '../log/logger.ts';
import type { Question, Reply } from './serve-tasks.ts';
import type { Task } from './task.ts';
import { createUsage } from './usage.ts';

/** Parses third-party content in child processes, so that hostile input cannot block or crash the service. */
export interface Parser {
  /** Throws a ParserError when there is no result. */
  run<Input, Output>(task: Task<Input, Output>, input: Input, limits?: RunLimits): Promise<Output>;
  /** Running tasks fail. */
  close(): Promise<void>;
}

interface RunLimits {
  /** A time budget that several tasks share. Each run is deducted. */
  readonly allowance?: Allowance;
  /** Aborts when the output is no longer needed. */
  readonly signal?: AbortSignal;
  /** The account or address that the task is for. Tasks without a holder, such as an order's, come first. */
  readonly holder?: string | undefined;
}

export interface Allowance {
  leftMs: number;
}

export type ParserTrouble = 'too_slow' | 'too_large' | 'busy' | 'given_up' | 'failed';

const sentences: Readonly<Record<ParserTrouble, string>> = {
  too_slow: 'Parsing took too long.',
  too_large: 'Parsing needed too much memory.',
  busy: 'Too much content is being parsed.',
  given_up: 'The result is no longer needed.',
  failed: 'Parsing failed.',
};

export class ParserError extends Error {
  override readonly name = 'ParserError';
  readonly kind: ParserTrouble;

  constructor(kind: ParserTrouble) {
    super(sentences[kind]);
    this.kind = kind;
  }
}

export interface ParserOptions {
  /** The file that serves the tasks. */
  readonly program: URL;
  readonly logger: Logger;
  readonly processes?: number;
  readonly mostMs?: number;
  readonly mostMegabytes?: number;
}

const usual = { processes: 2, mostMs: 2_000, mostMegabytes: 128 } as const;
/** Starting Node and loading the file can take long on a busy machine. */
const readyWithinMs = 30_000;
const mostWaiting = 1_000;
const mostWaitingBytes = 64_000_000;
/** Holders that have recently used more than this share one process. */
const muchMs = 300;

interface Job {
  readonly question: Question;
  readonly allowance: Allowance | undefined;
  readonly holder: string | undefined;
  readonly bytes: number;
  /** Whether a process already died on it, as far as we know through no fault of the input. */
  wasTried: boolean;
  settle(result: { readonly output: unknown } | { readonly trouble: ParserTrouble }): void;
  isOver: boolean;
}

interface Reader {
  readonly child: ChildProcess;
  isReady: boolean;
  job: Job | undefined;
  begunAt: number;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Processes start when they are first needed. A process that exceeds a limit is killed, which fails only its current
 * task. Threads would not do, because a thread that runs out of memory ends the whole process.
 */
export function createParser({ program, logger, ...given }: ParserOptions): Parser {
  const { processes, mostMs, mostMegabytes } = { ...usual, ...given };
  const readers = new Set<Reader>();
  const waiting: Job[] = [];
  const usage = createUsage(monotonicClock);
  let closed = false;

  function start(job: Job): void {
    const child = fork(program, {
      // The child gets neither settings nor secrets.
      env: {},
      execArgv: [`--max-old-space-size=${mostMegabytes}`, '--max-semi-space-size=8'],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const reader: Reader = { child, isReady: false, job, begunAt: 0, timer: undefined };
    readers.add(reader);
    reader.timer = setTimeout(() => end(reader, 'failed'), readyWithinMs);
    child.on('message', (reply: Reply) => hear(reader, reply));
    child.on('error', (err) => {
      logger.error({ err, task: reader.job?.question.name }, 'a parser process failed');
      end(reader, 'failed');
    });
    child.on('exit', (code, signal) => {
      if (!readers.has(reader)) return;
      // Node aborts when it runs out of memory.
      if (signal === 'SIGABRT') return end(reader, 'too_large');
      logger.error({ code, signal, task: reader.job?.question.name }, 'a parser process ended unexpectedly');
      tryAgain(reader);
      end(reader, 'failed');
    });
  }

  /** Retries once in another process: this one may have been killed because the machine ran out of memory. */
  function tryAgain(reader: Reader): void {
    const { job } = reader;
    if (job === undefined || job.wasTried || job.isOver) return;
    job.wasTried = true;
    reader.job = undefined;
    waiting.unshift(job);
  }

  function hear(reader: Reader, reply: Reply): void {
    if (!readers.has(reader)) return;
    if ('ready' in reply) {
      clearTimeout(reader.timer);
      reader.isReady = true;
      ask(reader);
      return;
    }
    const job = release(reader);
    if ('failure' in reply) {
      logger.error({ task: job?.question.name, failure: reply.failure }, 'a parser task failed');
      job?.settle({ trouble: 'failed' });
    } else job?.settle(reply);
    letGo(reader);
    goOn();
  }

  function ask(reader: Reader): void {
    const { job, child } = reader;
    if (job === undefined) return;
    const withinMs = Math.min(mostMs, job.allowance?.leftMs ?? mostMs);
    if (job.isOver || withinMs < 1) {
      reader.job = undefined;
      job.settle({ trouble: 'too_slow' });
      letGo(reader);
      goOn();
      return;
    }
    hold(reader);
    reader.begunAt = monotonicClock.now();
    reader.timer = setTimeout(() => end(reader, 'too_slow'), withinMs);
    child.send(job.question);
  }

  /** Ends the current job and deducts its time from the allowance. */
  function release(reader: Reader): Job | undefined {
    const { job } = reader;
    clearTimeout(reader.timer);
    reader.job = undefined;
    if (job !== undefined && reader.isReady) {
      const took = monotonicClock.now() - reader.begunAt;
      if (job.allowance !== undefined) job.allowance.leftMs -= took;
      if (job.holder !== undefined) usage.add(job.holder, took);
    }
    return job;
  }

  function end(reader: Reader, trouble: ParserTrouble): void {
    if (!readers.delete(reader)) return;
    release(reader)?.settle({ trouble });
    reader.child.kill('SIGKILL');
    goOn();
  }

  function goOn(): void {
    if (closed) return;
    for (const reader of readers) {
      if (!reader.isReady || reader.job !== undefined) continue;
      reader.job = takeNext();
      if (reader.job === undefined) return;
      ask(reader);
    }
    while (readers.size < processes) {
      const job = takeNext();
      if (job === undefined) return;
      start(job);
    }
  }

  /** Picks the holder with the least recent usage, one task at a time. Heavy users share one process. */
  function takeNext(): Job | undefined {
    const busy = [...readers].flatMap(({ job }) => job?.holder ?? []);
    const isCrowded = processes > 1 && busy.some((holder) => usage.of(holder) > muchMs);
    let next: { readonly place: number; readonly used: number } | undefined;
    for (const [place, { holder }] of waiting.entries()) {
      const used = holder === undefined ? -1 : usage.of(holder);
      if (next !== undefined && used >= next.used) continue;
      if (holder !== undefined && processes > 1 && busy.includes(holder)) continue;
      if (isCrowded && used > muchMs) continue;
      next = { place, used };
    }
    return next && waiting.splice(next.place, 1)[0];
  }

  return {
    async run<Input, Output>(task: Task<Input, Output>, input: Input, { allowance, signal, holder }: RunLimits = {}) {
      if (closed || signal?.aborted === true) throw new ParserError('given_up');
      const bytes = sizeOf(input);
      const held = waiting.reduce((sum, job) => sum + job.bytes, bytes);
      if (waiting.length >= mostWaiting || held > mostWaitingBytes) throw new ParserError('busy');
      return new Promise<Output>((resolve, reject) => {
        const giveUp = () => {
          const place = waiting.indexOf(job);
          if (place !== -1) waiting.splice(place, 1);
          job.settle({ trouble: 'given_up' });
        };
        const job: Job = {
          question: { name: task.name, input },
          allowance,
          holder,
          bytes,
          wasTried: false,
          isOver: false,
          settle(result) {
            if (job.isOver) return;
            job.isOver = true;
            signal?.removeEventListener('abort', giveUp);
            if ('output' in result) resolve(result.output as Output);
            else reject(new ParserError(result.trouble));
          },
        };
        signal?.addEventListener('abort', giveUp);
        waiting.push(job);
        goOn();
      });
    },

    async close() {
      closed = true;
      for (const job of waiting.splice(0)) job.settle({ trouble: 'given_up' });
      const exits = [...readers].map(({ child }) => new Promise((resolve) => child.once('exit', resolve)));
      for (const reader of readers) end(reader, 'given_up');
      await Promise.all(exits);
    },
  };
}

/** The memory that a waiting input holds. */
function sizeOf(input: unknown): number {
  const { bytes } = (input ?? {}) as { readonly bytes?: unknown };
  return bytes instanceof Uint8Array ? bytes.length : 0;
}

/** Keeps the service alive while the child works. */
function hold({ child }: Reader): void {
  child.ref();
  child.channel?.ref();
}

function letGo({ child }: Reader): void {
  child.unref();
  child.channel?.unref();
}

/** A child process runs the built file. When the sources run directly, as in tests, that file is in dist under the same name. */
export function builtFile(name: string, from: string): URL {
  const url = new URL(name, from);
  if (from.endsWith('.ts')) url.pathname = url.pathname.replace(/\/src\/(?!.*\/src\/)/, '/dist/src/');
  return url;
}
