/**
 * Lets those who want the same thing at the same moment share one run of it. Whoever asks while a run is under way gets the
 * next one: what they are answered with began after they had asked. When the run under way fails, those who wait behind it
 * fail with it, instead of waiting through another failure.
 */
export function shareRuns<What>(
  nameOf: (what: What) => string,
  run: (what: What) => Promise<void>,
): (what: What) => Promise<void> {
  const underWay = new Map<string, Promise<void>>();
  const next = new Map<string, Promise<void>>();

  function begin(name: string, what: What): Promise<void> {
    const running = run(what).finally(() => underWay.delete(name));
    underWay.set(name, running);
    return running;
  }

  return (what) => {
    const name = nameOf(what);
    const shared = next.get(name);
    if (shared !== undefined) return shared;
    const before = underWay.get(name);
    if (before === undefined) return begin(name, what);
    const later = before.then(
      () => {
        next.delete(name);
        return begin(name, what);
      },
      (error: unknown) => {
        next.delete(name);
        throw error;
      },
    );
    next.set(name, later);
    return later;
  };
}
