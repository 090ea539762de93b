import type { Place } from './place.ts';
import { takePlace } from './read-place.ts';
import { isCodeOfRegion, isInOrder, mayBeElsewhere } from './regions.ts';

export interface Inferred {
  readonly country: string;
  readonly place: Place;
}

/** Royal Mail's areas, and those of the islands and Gibraltar, which use the same format. */
const british = new RegExp(
  `^(?:AB|AL|B|BA|BB|BD|BH|BL|BN|BR|BS|BT|CA|CB|CF|CH|CM|CO|CR|CT|CV|CW|DA|DD|DE|DG|DH|DL|DN|DT|DY|E|EC|EH|EN|EX|FK|FY|G|GL|GU|HA|HD|
    HG|HP|HR|HS|HU|HX|IG|IP|IV|KA|KT|KW|KY|L|LA|LD|LE|LL|LN|LS|LU|M|ME|MK|ML|N|NE|NG|NN|NP|NR|NW|OL|OX|PA|PE|PH|PL|PO|PR|RG|RH|
    RM|S|SA|SE|SG|SK|SL|SM|SN|SO|SP|SR|SS|ST|SW|SY|TA|TD|TF|TN|TQ|TR|TS|TW|UB|W|WA|WC|WD|WF|WN|WR|WS|WV|YO|ZE)\\d`.replace(
    /\s/g,
    '',
  ),
);
const eircode = /^[AC-FHKNPRTV-Y]\d[\dW] (?=.*\d)[AC-FHKNPRTV-Y\d]{4}$/;

/** What identifies a country without its name: a code format that no other country uses, or a code that belongs to the region. */
const signs: Readonly<Record<string, (place: Place, text: string, pieces: readonly string[]) => boolean>> = {
  US: (place, _, pieces) => isRegionWithCode(place, pieces, 'US') && !mayBeElsewhere(place),
  AU: (place, _, pieces) => isRegionWithCode(place, pieces, 'AU'),
  IN: ({ region, postalCode = '' }) => region !== undefined && /^[1-8]/.test(postalCode),
  CA: ({ postalCode = '' }) => /^[ABCEGHJ-NPRSTVXY]\d/.test(postalCode),
  GB: ({ postalCode = '' }) => british.test(postalCode),
  GG: ({ postalCode = '' }) => postalCode.startsWith('GY'),
  IM: ({ postalCode = '' }) => postalCode.startsWith('IM'),
  JE: ({ postalCode = '' }) => postalCode.startsWith('JE'),
  GI: ({ postalCode = '' }) => postalCode.startsWith('GX11'),
  IE: ({ postalCode = '' }) => eircode.test(postalCode),
  // "2400 Le Locle" is in Switzerland, and "Perth 6000 WA" in Australia.
  NL: (_, text) => /(?:^|, )[1-9]\d{3} ?(?!S[ADS])[A-Z]{2} (?=\p{L}*\p{Ll})[^,]+$/u.test(text),
  BR: (_, text) => /\b\d{5}-\d{3}(?!\d)/.test(text),
  PL: (_, text) => /(?:^|, )\d\d-\d{3} \p{L}[^,]+$/u.test(text),
  PT: (_, text) => /(?:^|, )\d{4}-\d{3} \p{L}[^,]+$/u.test(text),
};

function isRegionWithCode(
  { region = '', postalCode = '' }: Place,
  pieces: readonly string[],
  country: string,
): boolean {
  return isCodeOfRegion(postalCode, region, country) && isInOrder(region, pieces, country);
}

/** The only country that this place can be in. Undefined when several match: sixty countries use five digits. */
export function inferCountry(pieces: readonly string[]): Inferred | undefined {
  const text = pieces.join(', ');
  const possible = Object.entries(signs).flatMap(([country, isThere]) => {
    const place = takePlace(pieces, country);
    const isComplete = place.city !== undefined && place.postalCode !== undefined;
    return isComplete && isThere(place, text, pieces) ? [{ country, place }] : [];
  });
  const [only, ...others] = possible;
  return others.length === 0 ? only : undefined;
}
