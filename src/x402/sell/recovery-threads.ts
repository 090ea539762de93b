import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Hex } from 'viem';
import { httpErrors } from '../../kernel/http/errors.ts';
import { builtFile } from '../../kernel/parser/parser.ts';
import { createGatherer } from './gather.ts';
import type { SignedStruct } from './recover-signer.ts';

type Signer = Hex | undefined;

/** Recovers signers in threads. */
export interface RecoveryThreads {
  /** Undefined when no key can have made the signature. Refuses with 503 when the thread dies or too many wait. */
  recover(signed: SignedStruct): Promise<Signer>;
  close(): Promise<void>;
}

interface ThreadsOptions {
  readonly program?: URL;
  readonly count?: number;
  readonly limitMs?: number;
}

/** Far longer than a batch takes on a busy machine. A thread that is silent for longer is ended. */
const silentMs = 10_000;

const usual = {
  program: builtFile('./recovery-thread.js', import.meta.url),
  /** The event loop and PostgreSQL need a core too. */
  count: Math.max(1, Math.min(4, availableParallelism() - 1)),
  limitMs: silentMs,
};
/** About 20 ms of work, so that an answer does not wait long for the others of its batch. */
const atOnce = 32;
const mostWaiting = 2_000;
const mostMegabytes = 64;

/** A thread starts when it is first needed and has one batch at a time. The next batch replaces one that has died. */
export function createRecoveryThreads(options: ThreadsOptions = {}): RecoveryThreads {
  const { program, count, limitMs } = { ...usual, ...options };
  const all = new Set<Worker>();
  const idle = new Set<Worker>();

  function start(): Worker {
    // The thread gets neither settings nor secrets.
    const thread = new Worker(program, { env: {}, resourceLimits: { maxOldGenerationSizeMb: mostMegabytes } });
    all.add(thread);
    // Without a listener an error would end the service. The exit that follows refuses the batch.
    thread.on('error', () => {});
    thread.once('exit', () => {
      all.delete(thread);
      idle.delete(thread);
    });
    return thread;
  }

  function run(batch: readonly SignedStruct[]): Promise<readonly Signer[]> {
    const [thread = start()] = idle;
    idle.delete(thread);
    return new Promise((resolve, reject) => {
      const silence = setTimeout(() => void thread.terminate(), limitMs);
      const die = () => {
        clearTimeout(silence);
        reject(unavailable());
      };
      thread.once('exit', die);
      thread.once('message', (signers: readonly Signer[]) => {
        clearTimeout(silence);
        thread.off('exit', die);
        // An idle thread does not keep the process running.
        thread.unref();
        idle.add(thread);
        resolve(signers);
      });
      thread.ref();
      thread.postMessage(batch);
    });
  }

  return {
    recover: createGatherer({ run, atOnce, mostInFlight: count, mostWaiting }),
    async close() {
      await Promise.all([...all].map((thread) => thread.terminate()));
    },
  };
}

let shared: RecoveryThreads | undefined;

/** One set for the process. */
export function sharedThreads(): RecoveryThreads {
  shared ??= createRecoveryThreads();
  return shared;
}

function unavailable() {
  return httpErrors.unavailable('The payment cannot be verified right now. Nothing was charged. Try again.', {
    headers: { 'Retry-After': '1' },
  });
}
