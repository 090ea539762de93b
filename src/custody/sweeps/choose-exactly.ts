/** The most combinations to try. Nearly always the oldest deposits fit at once. */
const mostTries = 10_000;

/** The deposits that come to exactly this amount, the oldest if there is a choice. Undefined when none do. */
export function chooseExactly<Deposit extends { readonly atomic: bigint }>(
  oldestFirst: readonly Deposit[],
  atomic: bigint,
): readonly Deposit[] | undefined {
  let tries = 0;
  function choose(from: number, missing: bigint): readonly Deposit[] | undefined {
    if (missing === 0n) return [];
    for (const [offset, deposit] of oldestFirst.slice(from).entries()) {
      if (deposit.atomic > missing) continue;
      if (++tries > mostTries) return undefined;
      const rest = choose(from + offset + 1, missing - deposit.atomic);
      if (rest !== undefined) return [deposit, ...rest];
    }
    return undefined;
  }
  return atomic > 0n ? choose(0, atomic) : undefined;
}
