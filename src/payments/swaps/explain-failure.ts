export const priceMoved = 'The price moved by more than 1 % before the swap was made.';
export const tooMuchGas = 'The swap needs more gas than was quoted.';
export const tooLate = 'The swap could not be made before its deadline.';

/** Messages of the router or the provider, and their meaning for the owner of the swap. */
const meanings: readonly (readonly [RegExp, string])[] = [
  [/too little received/i, priceMoved],
  [/more gas than was/i, tooMuchGas],
  [/transaction too old/i, tooLate],
];

/** Undefined when the message says nothing about the market. */
export function meaningOf(reason: string): string | undefined {
  return meanings.find(([pattern]) => pattern.test(reason))?.[1];
}

export function explainFailure(reason: string): string {
  return meaningOf(reason) ?? reason;
}

/** The owner of a pool can quote a good price, and then move it or add ticks while a swap is prepared. */
export function isByMarket(reason: string): boolean {
  return reason === priceMoved || reason === tooMuchGas;
}
