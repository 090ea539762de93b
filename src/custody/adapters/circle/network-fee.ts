/** Every chain in the catalogue has a native coin with eighteen decimals. */
const decimals = 18;

const gweiDecimals = 9;

/**
 * Circle gives the gas cost as a decimal number of native coins. It is parsed digit by digit, never as a float.
 * Undefined when it is not such a number, or has too many decimals.
 */
export function parseNetworkFee(text: string | undefined): bigint | undefined {
  return parseDecimal(text, decimals);
}

/** A price per unit of gas, which Circle gives in gwei. */
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
