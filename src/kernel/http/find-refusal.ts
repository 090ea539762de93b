/**
 * Returns the error that `ask` throws, to be thrown later: an idempotent replay must get its stored response even if
 * the request would be refused now. The error is wrapped because any value can be thrown.
 */
export async function findRefusal(ask: () => Promise<void>): Promise<{ readonly error: unknown } | undefined> {
  try {
    await ask();
    return undefined;
  } catch (error) {
    return { error };
  }
}
