import { Worker } from 'node:worker_threads';
import { monotonicClock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { Question, Reply } from './serve-tasks.ts';
import type { Task } from './task.ts';

/** Reads what strangers send, in threads of their own: whatever it is made of, this process goes on meanwhile. */
export interface Parser {
  /** Throws a ParserError when nothing comes of it. */
  run<Input, Output>(task: Task<Input, Output>, input: Input, limits?: RunLimits): Promise<Output>;
  /** What is under way fails. */
  close(): Promise<void>;
}

export interface RunLimits {
  /** What all tasks for one purpose may take together. It is counted down. */
  readonly allowance?: Allowance;
  /** For when the output is of no use any more. */
  readonly signal?: AbortSignal;
}

export interface Allowance {
  leftMs: number;
}

export type ParserTrouble = 'too_slow' | 'too_large' | 'busy' | 'given_up' | 'failed';

const sentences: Readonly<Record<ParserTrouble, string>> = {
  too_slow: 'It takes too long to read.',
  too_large: 'It takes too much memory to read.',
  busy: 'Too much is being read at the moment.',
  given_up: 'The output is not waited for any more.',
  failed: 'It could not be read.',
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
  readonly thread: URL;
  readonly logger: Logger;
  readonly threads?: number;
  readonly mostMs?: number;
  readonly mostMegabytes?: number;
}

const usual = { threads: 2, mostMs: 2_000, mostMegabytes: 128 } as const;
/** Loading a few files; on a busy machine that takes a while. */
const readyWithinMs = 30_000;
const mostWaiting = 1_000;

interface Job {
  readonly question: Question;
  readonly allowance: Allowance | undefined;
  settle(result: { readonly output: unknown } | { readonly trouble: ParserTrouble }): void;
  isOver: boolean;
}

interface Thread {
  readonly worker: Worker;
  isReady: boolean;
  job: Job | undefined;
  begunAt: number;
  timer: NodeJS.Timeout | undefined;
}

/** Threads start when they are first needed. One that reaches a limit is ended, and with it only what it was reading. */
export function createParser({ thread: file, logger, ...given }: ParserOptions): Parser {
  const { threads: mostThreads, mostMs, mostMegabytes } = { ...usual, ...given };
  const threads = new Set<Thread>();
  const waiting: Job[] = [];
  let closed = false;

  function start(job: Job): void {
    const worker = new Worker(file, {
      name: 'parser',
      // Nothing of ours is in there: neither settings nor secrets.
      env: {},
      argv: [],
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: mostMegabytes, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 },
    });
    const thread: Thread = { worker, isReady: false, job, begunAt: 0, timer: undefined };
    threads.add(thread);
    thread.timer = setTimeout(() => end(thread, 'failed'), readyWithinMs);
    worker.on('message', (reply: Reply) => hear(thread, reply));
    worker.on('error', (error: Error & { code?: string }) => {
      const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      if (!isMemory) logger.error({ task: thread.job?.question.name, code: error.code }, 'the parser’s thread failed');
      end(thread, isMemory ? 'too_large' : 'failed');
    });
    worker.on('exit', () => end(thread, 'failed'));
  }

  function hear(thread: Thread, reply: Reply): void {
    if (!threads.has(thread)) return;
    if ('ready' in reply) {
      clearTimeout(thread.timer);
      thread.isReady = true;
      ask(thread);
      return;
    }
    const job = release(thread);
    if ('failure' in reply) {
      logger.error({ task: job?.question.name, failure: reply.failure }, 'a task of the parser failed');
      job?.settle({ trouble: 'failed' });
    } else job?.settle(reply);
    thread.worker.unref();
    goOn();
  }

  function ask(thread: Thread): void {
    const { job, worker } = thread;
    if (job === undefined) return;
    const withinMs = Math.min(mostMs, job.allowance?.leftMs ?? mostMs);
    if (job.isOver || withinMs <= 0) {
      thread.job = undefined;
      job.settle({ trouble: 'too_slow' });
      worker.unref();
      goOn();
      return;
    }
    worker.ref();
    thread.begunAt = monotonicClock.now();
    thread.timer = setTimeout(() => end(thread, 'too_slow'), withinMs);
    worker.postMessage(job.question);
  }

  /** Its job is over, and what it took is taken from its allowance. */
  function release(thread: Thread): Job | undefined {
    const { job } = thread;
    clearTimeout(thread.timer);
    thread.job = undefined;
    if (job?.allowance !== undefined && thread.isReady) {
      job.allowance.leftMs -= monotonicClock.now() - thread.begunAt;
    }
    return job;
  }

  function end(thread: Thread, trouble: ParserTrouble): void {
    if (!threads.delete(thread)) return;
    release(thread)?.settle({ trouble });
    void thread.worker.terminate();
    goOn();
  }

  function goOn(): void {
    if (closed) return;
    for (const thread of threads) {
      if (waiting.length === 0) return;
      if (!thread.isReady || thread.job !== undefined) continue;
      thread.job = waiting.shift();
      ask(thread);
    }
    while (threads.size < mostThreads) {
      const job = waiting.shift();
      if (job === undefined) return;
      start(job);
    }
  }

  return {
    async run<Input, Output>(task: Task<Input, Output>, input: Input, { allowance, signal }: RunLimits = {}) {
      if (closed || signal?.aborted === true) throw new ParserError('given_up');
      if (waiting.length >= mostWaiting) throw new ParserError('busy');
      return new Promise<Output>((resolve, reject) => {
        const giveUp = () => {
          const place = waiting.indexOf(job);
          if (place !== -1) waiting.splice(place, 1);
          job.settle({ trouble: 'given_up' });
        };
        const job: Job = {
          question: { name: task.name, input },
          allowance,
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
      const ending = [...threads];
      for (const thread of ending) end(thread, 'given_up');
      await Promise.all(ending.map(({ worker }) => worker.terminate()));
    },
  };
}
