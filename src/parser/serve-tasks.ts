import { parentPort } from 'node:worker_threads';

/** What the thread is asked, one at a time. */
export interface Question {
  readonly name: string;
  readonly input: unknown;
}

/** What it says: first that it is ready, then one of these for each question. */
export type Reply = { readonly ready: true } | { readonly output: unknown } | { readonly failure: string };

type Tasks = Readonly<Record<string, (input: never) => unknown>>;

/** The thread's side: does what it is asked, and knows nothing but these tasks. */
export function serveTasks(tasks: Tasks): void {
  const port = parentPort;
  if (port === null) throw new Error('tasks are done in a thread of their own');
  const reply = (said: Reply) => port.postMessage(said);
  port.on('message', ({ name, input }: Question) => {
    try {
      const task = Object.hasOwn(tasks, name) ? tasks[name] : undefined;
      if (task === undefined) throw new Error('there is no such task');
      reply({ output: task(input as never) });
    } catch (error) {
      // Its name and no more: the message may hold what a stranger has written.
      reply({ failure: error instanceof Error ? error.name : 'unknown' });
    }
  });
  reply({ ready: true });
}
