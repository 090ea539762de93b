import { createContext, Script } from 'node:vm';

/** What the process is asked, one at a time. */
export interface Question {
  readonly name: string;
  readonly input: unknown;
}

/** What it says: first that it is ready, then one of these for each question. */
export type Reply = { readonly ready: true } | { readonly output: unknown } | { readonly failure: string };

type Tasks = Readonly<Record<string, (input: never) => unknown>>;

/** Longer than it is ever let run. If nobody is there any more to end it, it ends by itself. */
const mostMs = 5_000;

/** The parser's side: does what it is asked, and knows nothing but these tasks. */
export function serveTasks(tasks: Tasks): void {
  const reply = (said: Reply) => void process.send?.(said);
  process.on('message', ({ name, input }: Question) => {
    try {
      const task = Object.hasOwn(tasks, name) ? tasks[name] : undefined;
      if (task === undefined) throw new Error('there is no such task');
      reply({ output: runWithin(() => task(input as never)) });
    } catch (error) {
      // Its name and no more: the message may hold what a stranger has written.
      reply({ failure: error instanceof Error ? error.name : 'unknown' });
    }
  });
  process.on('disconnect', () => process.exit());
  // Ctrl-C is meant for the service, which ends us when it needs us no more.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  reply({ ready: true });
}

const context = createContext({ work: undefined });
const script = new Script('work()');

function runWithin(work: () => unknown): unknown {
  context['work'] = work;
  return script.runInContext(context, { timeout: mostMs });
}
