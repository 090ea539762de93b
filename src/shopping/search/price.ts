/** A price in the merchant's own currency. */
export interface Price {
  /** In units of 10^-decimals. */
  readonly atomic: bigint;
  readonly decimals: number;
  /** ISO 4217; undefined if the merchant does not say, as with a bare "kr". */
  readonly currency: string | undefined;
  /** As the merchant writes it, or formatted for its currency. */
  readonly text: string;
}

type Decimal = Pick<Price, 'atomic' | 'decimals'>;

const mostDigits = 15;
const longestText = 40;
const longestCode = 20;

/** Returns an upper-case ISO 4217 code. */
export function readCurrency(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > longestCode) return undefined;
  const code = value.trim().toUpperCase();
  return /^[A-Z]{3}$/.test(code) ? code : undefined;
}

/** Currencies whose ISO 4217 minor unit is not 2. Intl knows only the customary number of decimals. */
const minorUnits: Readonly<Record<string, number>> = Object.fromEntries([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ').map((code) => [code, 0]),
  ...'BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3]),
  ...'CLF UYW'.split(' ').map((code) => [code, 4]),
]);

export function minorUnitOf(currency: string | undefined): number {
  return minorUnits[currency ?? ''] ?? 2;
}

/** The customary number of decimals. It can differ from the minor unit: prices in forint are written without the hundredths. */
function decimalsOf(currency: string | undefined): number {
  if (currency === undefined) return 2;
  return new Intl.NumberFormat('en-US', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
}

/** Reads an amount in minor units, such as 2499 with USD. */
export function priceFromMinor(minor: unknown, currency: string | undefined, decimals = minorUnitOf(currency)) {
  const text = typeof minor === 'number' && Number.isSafeInteger(minor) ? String(minor) : minor;
  if (typeof text !== 'string' || !new RegExp(`^\\d{1,${mostDigits}}$`).test(text)) return undefined;
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 8) return undefined;
  return toPrice({ atomic: BigInt(text), decimals }, currency);
}

/** Reads any notation of a price: a number, "24.99", "1.234,56 €", "¥1,980", "kr 1 299,-". */
export function priceFromText(value: unknown, currency: string | undefined): Price | undefined {
  if (typeof value === 'number') return priceFromNumber(value, currency);
  if (typeof value !== 'string') return undefined;
  const text = plainText(value);
  const number = text === undefined || isNegative(text) ? undefined : firstNumber(text);
  if (text === undefined || number === undefined) return undefined;
  const code = currency ?? currencyIn(text);
  const decimal = readNumber(number, decimalsOf(code));
  if (decimal === undefined) return undefined;
  // Keep the merchant's own notation if it names the currency.
  const written = /[^\d.,'’\s-]/.test(text) && text.length <= longestText && onlyNumberIn(text, number);
  return toPrice(decimal, code, written ? text : undefined);
}

function priceFromNumber(value: number, currency: string | undefined): Price | undefined {
  const text = String(value);
  const [, whole = '', fraction = ''] = /^(\d{1,15})(?:\.(\d{1,8}))?$/.exec(text) ?? [];
  if (whole === '') {
    // Floating-point results such as 19.990000000000002.
    return Number.isFinite(value) && value > 0 && value < 1e12
      ? priceFromText(value.toFixed(Math.max(2, decimalsOf(currency))), currency)
      : undefined;
  }
  return toPrice({ atomic: BigInt(whole + fraction), decimals: fraction.length }, currency);
}

/** Shops write 0 when they publish no price, so zero counts as no price. */
function toPrice(decimal: Decimal, currency: string | undefined, text?: string): Price | undefined {
  if (decimal.atomic <= 0n) return undefined;
  const usual = rescale(decimal, decimalsOf(currency));
  return { ...usual, currency, text: text ?? formatPrice(usual, currency) };
}

/** "230.0" becomes 230.00. An amount finer than the currency keeps its decimals. */
function rescale({ atomic, decimals }: Decimal, wanted: number): Decimal {
  if (decimals <= wanted) return { atomic: atomic * 10n ** BigInt(wanted - decimals), decimals: wanted };
  const surplus = 10n ** BigInt(decimals - wanted);
  return atomic % surplus === 0n ? { atomic: atomic / surplus, decimals: wanted } : { atomic, decimals };
}

function formatPrice({ atomic, decimals }: Decimal, currency: string | undefined): string {
  const digits = atomic.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const value = decimals === 0 ? whole : `${whole}.${digits.slice(digits.length - decimals)}`;
  const options = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  const format = new Intl.NumberFormat(
    'en-US',
    currency === undefined ? options : { ...options, style: 'currency', currency },
  );
  return format.format(value as `${number}`).replace(/\s/g, ' ');
}

/** Collapses whitespace. Returns undefined if the text is too long for a price. */
function plainText(value: string): string | undefined {
  if (value.length > 200) return undefined;
  const text = value.replace(/[\s\u00a0\u2007\u2009\u202f]+/g, ' ').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  return text.trim();
}

/** A minus before the first number. After a number it is a dash, as in "1 299,-" or a range. */
function isNegative(text: string): boolean {
  return /^\D*[-−]\s?[^\d\s]{0,3}[.,]?\d/.test(text);
}

/**
 * The first number with its separators; in a range this is the lower end. It may start with the decimals, as in "$.99", but the
 * dot in "Rs.99" belongs to the currency.
 */
function firstNumber(text: string): string | undefined {
  const found = /(?:(?<![\p{L}.,])[.,](?=\d{1,2}(?![\d.,])))?\d(?:[\d.,'’]|\s(?=\d{3}(?!\d)))*/u.exec(text);
  return found?.[0].replace(/[.,'’]+$/, '');
}

function onlyNumberIn(text: string, number: string): boolean {
  const rest = text.replace(number, '');
  // Digits of other scripts and markup that could decode to a digit count as numbers too.
  return !/[\p{N}&<]/u.test(rest);
}

/** A separator before groups of three digits is grouping; the last separator before one or two digits is the decimal point. */
function readNumber(number: string, decimals: number): Decimal | undefined {
  const bare = number.replace(/[\s'’]/g, '');
  const separators = [...bare.matchAll(/[.,]/g)];
  const last = separators.at(-1);
  if (last === undefined) return toDecimal(bare, '');
  const whole = bare.slice(0, last.index) || '0';
  const fraction = bare.slice(last.index + 1);
  const kinds = new Set(separators.map(([sign]) => sign)).size;
  const grouping =
    separators.length > 1
      ? kinds === 1 && fraction.length > 2
      : fraction.length === 3 && decimals !== 3 && /^[1-9]\d{0,2}$/.test(whole);
  return grouping ? toDecimal(bare.replace(/[.,]/g, ''), '') : toDecimal(whole.replace(/[.,]/g, ''), fraction);
}

function toDecimal(whole: string, fraction: string): Decimal | undefined {
  if (whole.length + fraction.length > mostDigits || fraction.length > 8 || !/^\d+$/.test(whole)) return undefined;
  return { atomic: BigInt(whole + fraction), decimals: fraction.length };
}

/** Only unambiguous symbols: "$" and "kr" stand for several currencies. */
const signs: Readonly<Record<string, string>> = {
  '€': 'EUR',
  '£': 'GBP',
  '¥': 'JPY',
  '￥': 'JPY',
  円: 'JPY',
  '₹': 'INR',
  '₩': 'KRW',
  '₽': 'RUB',
  '₺': 'TRY',
  '₴': 'UAH',
  '₫': 'VND',
  '₪': 'ILS',
  zł: 'PLN',
  R$: 'BRL',
  US$: 'USD',
};

const codes = new Set(Intl.supportedValuesOf('currency'));

function currencyIn(text: string): string | undefined {
  const code = /(?:^|[^A-Za-z])([A-Z]{3})(?![A-Za-z])/.exec(text)?.[1];
  if (code !== undefined && codes.has(code)) return code;
  return Object.entries(signs).find(([sign]) => text.includes(sign))?.[1];
}
