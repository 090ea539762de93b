/**
 * Looks again and again until there is something to see; on a slow machine that may take a while. Between two looks it waits for twice as long
 * as a look takes, so that what is waited for gets the cores.
 */
export async function until<Result>(
  what: string,
  look: () => Promise<Result | undefined | false>,
  timeoutMs = 60_000,
): Promise<Result> {
  for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; ) {
    const since = Date.now();
    const found = await look();
    if (found !== undefined && found !== false) return found;
    const took = Date.now() - since;
    await new Promise((resolve) => setTimeout(resolve, Math.max(50, Math.min(2 * took, 1_000))));
  }
  throw new Error(`waited in vain for ${what}`);
}
