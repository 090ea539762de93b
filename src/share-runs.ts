/**
 * Lets those who want the same thing at the same moment share one run of it. Whoever asks while a run is under way gets the
 * next one: what they are answered with began after they had asked. When the run under way fails, those who wait behind it
 * fail with it, instead of waiting through another failure. A run is told of everybody whom it is for.
 */
export function shareRuns<What>(
  nameOf: (what: What) => string,
  run: (what: What, all: readonly What[]) => Promise<void>,
): (what: What) => Promise<void> {
  const underWay = new Map<string, Promise<void>>();
  const next = new Map<string, { readonly all: What[]; readonly done: Promise<void> }>();

  function begin(name: string, what: What, all: readonly What[]): Promise<void> {
    const running = run(what, all).finally(() => underWay.delete(name));
    underWay.set(name, running);
    return running;
  }

  return (what) => {
    const name = nameOf(what);
    const shared = next.get(name);
    if (shared !== undefined) {
      shared.all.push(what);
      return shared.done;
    }
    const before = underWay.get(name);
    if (before === undefined) return begin(name, what, [what]);
    const all = [what];
    const done = before.then(
      () => {
        next.delete(name);
        return begin(name, what, all);
      },
      (error: unknown) => {
        next.delete(name);
        throw error;
      },
    );
    next.set(name, { all, done });
    return done;
  };
}
