/** Waits for the work, but no longer than this: then `late` decides the result, or throws. The work itself goes on. */
export async function within<Result>(ms: number, work: Promise<Result>, late: () => Result): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  return Promise.race([work, tooLate.then(late)]).finally(() => clearTimeout(timer));
}
