/**
 * Postal code formats: # is a digit, @ a letter, * either. A space, a hyphen and the country's letters in front are
 * optional on input and are added on output.
 */
const forms: Readonly<Record<string, string>> = {
  '###': 'BH FO GN IS LS MG OM PG TW',
  '####':
    'AF AL AM AR AT AU AZ BD BE BG BH CC CH CV CX CY DK ET GE GL GW HM HT HU LB LI LR LU MD MK MZ NE NF NO NZ PA PH PY SI SJ SV TN VE ZA',
  '#####':
    'AS AX BA BL BT CR CU DE DO DZ EE EG EH ES FI FM FR GF GP GT GU HN HR ID IL IQ IT JO KE KH KR KW LA LK LT MA MC ME MF MH MM MN MP MQ MU MV MX MY NA NC NI NP PE PF PK PM PR PS PW RE RS SA SD SM SN TH TR TW TZ UA UM US UY VA VI VN WF XK YT ZM',
  '#####-####': 'AS FM GU MH MP PR PW SA UM US VI',
  '######': 'AM BY CN CO EC IN KG KZ NG RO RU SG TJ TM TT TW UZ VN',
  '#######': 'CL IL',
  '### ##': 'CZ GR SE SK',
  '###-####': 'JP',
  '##-###': 'PL',
  '####-###': 'PT',
  '#####-###': 'BR',
  '#####-#####': 'IR',
  '#### ####': 'LB',
  '#### @@': 'NL',
  '@####@@@': 'AR',
  '@#@ #@#': 'CA',
  '@# #@@': 'GB',
  '@## #@@': 'GB',
  '@#@ #@@': 'GB',
  '@@# #@@': 'GB GG IM JE',
  '@@## #@@': 'GB GG GI IM JE',
  '@@#@ #@@': 'GB',
  '@@@@ #@@': 'FK GS IO PN SH TC',
  '@#* ****': 'IE',
  '@@@ ####': 'MT',
  '@@@ ##': 'MT',
  '@@####': 'BN',
  '@@ ##': 'BM',
  '@###': 'SZ',
  '@@ #####': 'SO',
  'AD###': 'AD',
  'AI-####': 'AI',
  'BB#####': 'BB',
  'KY#-####': 'KY',
  'LC## ###': 'LC',
  'LV-####': 'LV',
  'MSR####': 'MS',
  'VC####': 'VC',
  'VG####': 'VG',
};

/** Countries where a parcel needs a postal code. Elsewhere there are none, or they are optional. */
const needing = new Set(
  `AD AR AS AT AU AX BA BE BG BL BR BY CA CH CN CY CZ DE DK DZ EE ES FI FM FO FR GB GF GG GI GL GP GR GU HR HU ID IL IM IN IS
   IT JE JP KR KZ LI LT LU LV MA MC MD ME MF MH MK MP MQ MT MX MY NC NL NO NZ PF PH PK PL PM PR PT PW RE RO RS RU SA SE SG SI
   SJ SK SM TH TN TR TW UA UM US VA VI WF XK YT ZA`.split(/\s+/),
);

export function needsPostalCode(country: string): boolean {
  return needing.has(country);
}

interface Form {
  readonly country: string;
  readonly pattern: string;
  readonly write: (written: string) => string;
}

const kinds: Readonly<Record<string, string>> = {
  '#': '\\d',
  '@': '[A-Za-z]',
  '*': '[A-Za-z\\d]',
  ' ': ' ?',
  '-': '[ -]?',
};

const formsByCountry = new Map<string, Form[]>();
// Longest first: the first five digits of a ZIP+4 would match as well.
for (const [form, countries] of Object.entries(forms).sort(([a], [b]) => b.length - a.length)) {
  for (const country of countries.split(' ')) {
    formsByCountry.set(country, [...(formsByCountry.get(country) ?? []), readForm(country, form)]);
  }
}

function readForm(country: string, form: string): Form {
  const [, letters = '', rest = ''] = /^([A-Z]*-?)(.*)$/.exec(form) ?? [];
  const body = Array.from(rest, (sign) => kinds[sign]).join('');
  // D-10115, F-75001: a prefix used on mail from abroad.
  const abroad = /^#/.test(rest) ? `(?:(?:${country}|[A-Z])-)?` : '';
  return {
    country,
    pattern: `${letters === '' ? abroad : `(?:${letters})?`}${body}`,
    write(written) {
      const signs = Array.from(
        written
          .replace(/^[A-Za-z]{1,2}-(?=\d)/, '')
          .replace(/[ -]/g, '')
          .toUpperCase(),
      );
      const own = signs.slice(signs.length - rest.replace(/[ -]/g, '').length);
      return letters + Array.from(rest, (sign) => (sign === ' ' || sign === '-' ? sign : own.shift())).join('');
    },
  };
}

/** Normalizes a code to the country's format. Undefined when it does not match. */
export function readPostalCode(text: string, country: string): string | undefined {
  const form = formsByCountry.get(country)?.find(({ pattern }) => new RegExp(`^${pattern}$`, 'i').test(text));
  return form?.write(text);
}

export interface FoundCode {
  readonly code: string;
  readonly rest: string;
  readonly stands: 'alone' | 'before' | 'after';
}

/** Finds a code at the beginning or the end of a piece. */
export function findPostalCode(text: string, country: string): FoundCode | undefined {
  for (const { pattern, write } of formsByCountry.get(country) ?? []) {
    const [, first, behind = ''] = new RegExp(`^(${pattern})(?: (.+))?$`, 'i').exec(text) ?? [];
    if (first !== undefined) return { code: write(first), rest: behind, stands: behind === '' ? 'alone' : 'before' };
  }
  for (const { pattern, write } of formsByCountry.get(country) ?? []) {
    const [, ahead = '', last] = new RegExp(`^(.+?)[ -] ?(${pattern})$`, 'i').exec(text) ?? [];
    if (last !== undefined) return { code: write(last), rest: ahead.trim(), stands: 'after' };
  }
  return undefined;
}
