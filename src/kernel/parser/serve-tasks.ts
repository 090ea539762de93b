import { createContext, Script } from 'node:vm';

export interface Question {
  readonly name: string;
  readonly input: unknown;
}

/** First `ready`, then one reply per question. */
export type Reply = { readonly ready: true } | { readonly output: unknown } | { readonly failure: string };

type Tasks = Readonly<Record<string, (input: never) => unknown>>;

/** Longer than the service lets a task run. It ends a task if the service is gone. */
const mostMs = 5_000;

/** The child's side. It can run these tasks and nothing else. */
export function serveTasks(tasks: Tasks): void {
  const reply = (said: Reply) => void process.send?.(said);
  process.on('message', ({ name, input }: Question) => {
    try {
      const task = Object.hasOwn(tasks, name) ? tasks[name] : undefined;
      if (task === undefined) throw new Error('there is no such task');
      reply({ output: runWithin(() => task(input as never)) });
    } catch (error) {
      // Only the name: the message may quote third-party content.
      reply({ failure: error instanceof Error ? error.name : 'unknown' });
    }
  });
  process.on('disconnect', () => process.exit());
  // Ctrl-C is meant for the service, which ends this process itself.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  reply({ ready: true });
}

const context = createContext({ work: undefined });
const script = new Script('work()');

function runWithin(work: () => unknown): unknown {
  context['work'] = work;
  return script.runInContext(context, { timeout: mostMs });
}
