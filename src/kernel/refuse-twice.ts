/** Guards names that features declare: of two equal names, one would silently win. */
export function refuseTwice(what: string, names: readonly string[]): void {
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice !== undefined) throw new Error(`the ${what} ${twice} is declared twice`);
}
