/** A reason not to start, or not to run a command. The operator sees the message as it is, without a stack. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

export function refuseSameNames(what: string, things: readonly { readonly name: string }[]): void {
  const names = things.map(({ name }) => name);
  refuseDuplicates(what, names);
}

/** Guards names that features declare: of two equal names, one would silently win. */
export function refuseDuplicates(what: string, names: readonly string[]): void {
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice !== undefined) throw new Error(`the ${what} ${twice} is declared twice`);
}
