/** Looks again and again until there is something to see; on a slow machine that may take a while. */
export async function until<Result>(
  what: string,
  look: () => Promise<Result | undefined | false>,
  timeoutMs = 60_000,
): Promise<Result> {
  for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; ) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited in vain for ${what}`);
}
