/** What a feature does on a hook. Answers are lists, so that the answers of all features are one list. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that has nothing to answer returns nothing.
type HookHandler = (...given: never[]) => Promise<unknown[] | void>;

/** A feature's handler, on the hook that it was put on. */
export interface Hooked {
  readonly hook: object;
  readonly handler: HookHandler;
}

/**
 * A moment in one room at which features of other rooms take part: the room declares the hook and calls it, features put
 * their handlers on it, and neither imports the other.
 */
export interface Hook<Handler extends HookHandler> {
  readonly on: (handler: Handler) => Hooked;
  /** All handlers on this hook as one: they run one after the other, in the order of the list. */
  readonly gather: (hooked: readonly Hooked[]) => Handler;
}

/** Gathers what all features of the service do on a hook. */
export type GatherHook = <Handler extends HookHandler>(hook: Hook<Handler>) => Handler;

export function defineHook<Handler extends HookHandler>(): Hook<Handler> {
  const hook: Hook<Handler> = {
    on: (handler) => ({ hook, handler }),
    gather(hooked) {
      const handlers = hooked.filter((one) => one.hook === hook).map(({ handler }) => handler);
      const all: HookHandler = async (...given) => {
        const answers: unknown[] = [];
        for (const handler of handlers) answers.push(...((await handler(...given)) ?? []));
        return answers;
      };
      return all as Handler;
    },
  };
  return hook;
}
