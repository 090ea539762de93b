/**
 * What speaks against a request, to be thrown later: a request that was accepted before gets its answer again, whatever speaks
 * against it now. Wrapped, because anything may be thrown.
 */
export async function findRefusal(ask: () => Promise<void>): Promise<{ readonly error: unknown } | undefined> {
  try {
    await ask();
    return undefined;
  } catch (error) {
    return { error };
  }
}
