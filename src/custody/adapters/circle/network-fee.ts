/** Every chain that we use counts its native coin in eighteen decimals. */
const decimals = 18;

/** A gwei is a billionth of a coin. */
const gweiDecimals = 9;

/**
 * Circle writes what was paid for gas as a decimal number of native coins. It is read digit by digit, never as a float.
 * Undefined when it is no such number, or finer than the coin can be divided.
 */
export function parseNetworkFee(text: string | undefined): bigint | undefined {
  return parseDecimal(text, decimals);
}

/** The price of a unit of gas, which Circle writes in gwei. */
export function parseGasPrice(text: string | undefined): bigint | undefined {
  return parseDecimal(text, gweiDecimals);
}

function parseDecimal(text: string | undefined, places: number): bigint | undefined {
  const match = /^(\d{1,30})(?:\.(\d{1,60}))?$/.exec(text ?? '');
  if (match === null) return undefined;
  const [, whole = '', fraction = ''] = match;
  const digits = fraction.replace(/0+$/, '');
  if (digits.length > places) return undefined;
  return BigInt(whole + digits.padEnd(places, '0'));
}
