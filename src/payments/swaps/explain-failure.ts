export const priceMoved = 'The price moved by more than 1 % before it could be swapped.';
export const tooMuchGas = 'Its pools use more gas than was quoted.';
export const tooLate = 'It could not be swapped in time.';

/** What the router or the provider says, and what that means to whoever asked for the swap. */
const meanings: readonly (readonly [RegExp, string])[] = [
  [/too little received/i, priceMoved],
  [/more gas than was/i, tooMuchGas],
  [/transaction too old/i, tooLate],
];

/** Why a swap failed, in words for its owner. Undefined when these words say nothing of the market. */
export function meaningOf(reason: string): string | undefined {
  return meanings.find(([pattern]) => pattern.test(reason))?.[1];
}

export function explainFailure(reason: string): string {
  return meaningOf(reason) ?? reason;
}

/** Whoever owns a pool can have it pay well, and move its price or add steps to it while a swap is prepared. */
export function isByMarket(reason: string): boolean {
  return reason === priceMoved || reason === tooMuchGas;
}
