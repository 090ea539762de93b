/** Handlers return lists, so that the results of all features can be concatenated. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that has nothing to answer returns nothing.
type HookHandler = (...given: never[]) => Promise<unknown[] | void>;

export interface Hooked {
  readonly hook: object;
  readonly handler: HookHandler;
}

/**
 * An extension point. One room declares and calls the hook, features of other rooms attach handlers, and neither
 * imports the other.
 */
export interface Hook<Handler extends HookHandler> {
  readonly on: (handler: Handler) => Hooked;
  /** Combines all handlers on this hook into one. They run one after the other, in the order of the features. */
  readonly gather: (hooked: readonly Hooked[]) => Handler;
}

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
