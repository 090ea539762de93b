/**
 * Calls `look` until it finds something, which may take a while on a slow machine. Between two looks it waits for twice as long as a
 * look takes, to leave the cores to the work that is waited for. The deadline uses the monotonic clock: a machine may set its clock.
 */
export async function until<Result>(
  what: string,
  look: () => Promise<Result | undefined | false>,
  timeoutMs = 60_000,
): Promise<Result> {
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline; ) {
    const since = performance.now();
    const found = await look();
    if (found !== undefined && found !== false) return found;
    const took = performance.now() - since;
    await new Promise((resolve) => setTimeout(resolve, Math.max(50, Math.min(2 * took, 1_000))));
  }
  throw new Error(`waited in vain for ${what}`);
}
