export const priceMoved = 'The price moved by more than 1 % before it could be swapped.';
export const tooLate = 'It could not be swapped in time.';

/** What the router says, and what that means to whoever asked for the swap. */
const meanings: readonly (readonly [RegExp, string])[] = [
  [/too little received/i, priceMoved],
  [/transaction too old/i, tooLate],
];

/** Why a swap failed, in words for its owner. */
export function explainFailure(reason: string): string {
  return meanings.find(([pattern]) => pattern.test(reason))?.[1] ?? reason;
}
