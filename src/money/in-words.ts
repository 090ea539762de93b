/** "USDC, ETH and MATIC". */
export function listed(names: readonly string[], conjunction: 'and' | 'or' = 'and'): string {
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} ${conjunction} ${names.at(-1)}`;
}

const numerals = 'no one two three four five six seven eight nine ten eleven twelve'.split(' ');

/** "six" for 6. */
export function numberInWords(count: number): string {
  return numerals[count] ?? String(count);
}
