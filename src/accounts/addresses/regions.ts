import type { Place } from './address-parts.ts';
import { fold } from './countries.ts';

/** Italian and Spanish provinces that are written with two letters, and the first digits of their postal codes. */
const provinceList = [
  `AG 92|AL 15|AN 60|AO 11|AP 63|AQ 67|AR 52|AT 14|AV 83|BA 70|BG 24|BI 13|BL 32|BN 82|BO 40|BR 72|BS 25|BT 70|BT 71|BT 76|BZ 39|CA 09|
   CB 86|CE 81|CH 66|CI 09|CL 93|CN 12|CO 22|CR 26|CS 87|CT 95|CZ 88|EN 94|FC 47|FE 44|FG 71|FI 50|FM 63|FR 03|GE 16|GO 34|GR 58|IM 18|
   IS 86|KR 88|LC 23|LE 73|LI 57|LO 26|LT 04|LU 55|MB 20|MC 62|ME 98|MI 20|MN 46|MO 41|MS 54|MT 75|NA 80|NO 28|NU 08|OG 08|OR 09|OT 07|
   PA 90|PC 29|PD 35|PE 65|PG 06|PI 56|PN 33|PO 59|PR 43|PT 51|PU 61|PV 27|PZ 85|RA 48|RC 89|RE 42|RG 97|RI 02|RM 00|RN 47|RO 45|SA 84|
   SI 53|SO 23|SP 19|SR 96|SS 07|SU 09|SV 17|TA 74|TE 64|TN 38|TO 10|TP 91|TR 05|TS 34|TV 31|UD 33|VA 21|VB 28|VC 13|VE 30|VI 36|VR 37|
   VS 09|VT 01|VV 89`,
  `AB 02|AL 04|AV 05|BA 06|BI 48|BU 09|CA 11|CC 10|CE 51|CO 14|CR 13|CS 12|CU 16|GC 35|GI 17|GR 18|GU 19|HU 22|IB 07|LE 24|LO 26|LU 27|
   MA 29|ML 52|MU 30|NA 31|OR 32|OU 32|PM 07|PO 36|SA 37|SE 41|SG 40|SO 42|SS 20|TE 44|TF 38|TO 45|VA 47|VI 01|ZA 49`,
];
const beginnings = new Set(provinceList.flatMap((list) => list.split('|').map((entry) => entry.trim())));

/** Letters that may be a state of Brazil or India after a city, or a country where postal codes are optional. */
const ofStates = new Set(
  'AC AL AM AP AR BA CG ES GA LA MA MG ML MS MT MZ PA PE PR PY RO RS SC SE TG TN TO TR'.split(' '),
);

/** Whether the letters are a province with such codes: TR is Terni with 05100, and Turkey with 34430. */
export function mayBeProvince(letters: string, code: string): boolean {
  return /^\d{5}$/.test(code) && beginnings.has(`${letters.toUpperCase()} ${code.slice(0, 2)}`);
}

/** Whether the letters may be a state or province when no code tells. */
export function isProvinceSomewhere(letters: string): boolean {
  const upper = letters.toUpperCase();
  return ofStates.has(upper) || [...beginnings].some((entry) => entry.startsWith(`${upper} `));
}

const romanceStreet =
  /^(?:via|viale|vicolo|piazza|piazzale|corso|largo|loc|localit[aà]|fraz|frazione|strada|contrada|calle|c\/|avenida|plaza|paseo)(?![\p{L}\p{N}])/iu;

/** "5 Main St": in Italy and Spain the house number follows the street. */
export function hasNumberBeforeStreet(lines: readonly string[]): boolean {
  const isBefore = lines.some((line) => /^\d[\w/-]*,? \p{L}/u.test(line) || /^p\.? ?o\.? ?box\b/i.test(line));
  return isBefore && !lines.some((line) => romanceStreet.test(line.replace(/^\d[\w/-]*,? /, '')));
}

/** Regions of countries whose addresses include them: code and name, or only a name. */
const listed: Readonly<Record<string, string>> = {
  US: `AL Alabama|AK Alaska|AZ Arizona|AR Arkansas|CA California|CO Colorado|CT Connecticut|DE Delaware|DC District of Columbia|
    FL Florida|GA Georgia|HI Hawaii|ID Idaho|IL Illinois|IN Indiana|IA Iowa|KS Kansas|KY Kentucky|LA Louisiana|ME Maine|
    MD Maryland|MA Massachusetts|MI Michigan|MN Minnesota|MS Mississippi|MO Missouri|MT Montana|NE Nebraska|NV Nevada|
    NH New Hampshire|NJ New Jersey|NM New Mexico|NY New York|NC North Carolina|ND North Dakota|OH Ohio|OK Oklahoma|OR Oregon|
    PA Pennsylvania|RI Rhode Island|SC South Carolina|SD South Dakota|TN Tennessee|TX Texas|UT Utah|VT Vermont|VA Virginia|
    WA Washington|WV West Virginia|WI Wisconsin|WY Wyoming|PR Puerto Rico|GU Guam|VI Virgin Islands|AS American Samoa|
    MP Northern Mariana Islands|AA|AE|AP`,
  CA: `AB Alberta|BC British Columbia|MB Manitoba|NB New Brunswick|NL Newfoundland and Labrador|NS Nova Scotia|
    NT Northwest Territories|NU Nunavut|ON Ontario|PE Prince Edward Island|QC Quebec|SK Saskatchewan|YT Yukon`,
  AU: `ACT Australian Capital Territory|NSW New South Wales|NT Northern Territory|QLD Queensland|SA South Australia|
    TAS Tasmania|VIC Victoria|WA Western Australia`,
  BR: `AC Acre|AL Alagoas|AP Amapá|AM Amazonas|BA Bahia|CE Ceará|DF Distrito Federal|ES Espírito Santo|GO Goiás|MA Maranhão|
    MT Mato Grosso|MS Mato Grosso do Sul|MG Minas Gerais|PA Pará|PB Paraíba|PR Paraná|PE Pernambuco|PI Piauí|RJ Rio de Janeiro|
    RN Rio Grande do Norte|RS Rio Grande do Sul|RO Rondônia|RR Roraima|SC Santa Catarina|SP São Paulo|SE Sergipe|TO Tocantins`,
  IN: `=Andhra Pradesh|=Arunachal Pradesh|=Assam|=Bihar|=Chhattisgarh|=Goa|=Gujarat|=Haryana|=Himachal Pradesh|=Jharkhand|
    =Karnataka|=Kerala|=Madhya Pradesh|=Maharashtra|=Manipur|=Meghalaya|=Mizoram|=Nagaland|=Odisha|=Punjab|=Rajasthan|=Sikkim|
    =Tamil Nadu|=Telangana|=Tripura|=Uttar Pradesh|=Uttarakhand|=West Bengal|=Jammu and Kashmir|=Ladakh`,
  GB: `=Bedfordshire|=Berkshire|=Buckinghamshire|=Cambridgeshire|=Cheshire|=Cornwall|=Cumbria|=Derbyshire|=Devon|=Dorset|
    =County Durham|=Co Durham|=East Sussex|=West Sussex|=Sussex|=Essex|=Gloucestershire|=Greater London|=Greater Manchester|
    =Hampshire|=Herefordshire|=Hertfordshire|=Isle of Wight|=Kent|=Lancashire|=Leicestershire|=Lincolnshire|=Merseyside|
    =Middlesex|=Norfolk|=Northamptonshire|=Northumberland|=Nottinghamshire|=Oxfordshire|=Rutland|=Shropshire|=Somerset|
    =North Yorkshire|=South Yorkshire|=West Yorkshire|=East Yorkshire|=Yorkshire|=Staffordshire|=Suffolk|=Surrey|=Tyne and Wear|
    =Warwickshire|=West Midlands|=Wiltshire|=Worcestershire|=Clwyd|=Dyfed|=Gwent|=Gwynedd|=Mid Glamorgan|=Powys|
    =South Glamorgan|=West Glamorgan|=Aberdeenshire|=Angus|=Argyll|=Ayrshire|=Banffshire|=Berwickshire|=Caithness|
    =Dumfriesshire|=East Lothian|=Fife|=Lanarkshire|=Midlothian|=Perthshire|=Renfrewshire|=Sutherland|=West Lothian|
    =County Antrim|=County Armagh|=County Down|=County Fermanagh|=County Londonderry|=County Tyrone`,
};

interface Regions {
  readonly codes: ReadonlySet<string>;
  /** From the folded name to the code, or to the name if there is no code. */
  readonly names: ReadonlyMap<string, string>;
}

const regions: ReadonlyMap<string, Regions> = new Map(
  Object.entries(listed).map(([country, list]) => {
    const entries = list.split('|').map((entry) => /^(?:=|(\w+) ?)(.*)$/.exec(entry.trim()) ?? []);
    return [
      country,
      {
        codes: new Set(entries.flatMap(([, code]) => (code === undefined ? [] : [code]))),
        names: new Map(entries.map(([, code, name = '']) => [fold(name), code ?? name])),
      },
    ];
  }),
);

export function listsRegions(country: string): boolean {
  return regions.has(country);
}

/** Finds a region by code or name. Returns its code, or its name if it has none. */
export function findRegion(text: string, country: string): string | undefined {
  const known = regions.get(country);
  if (known?.codes.has(text.toUpperCase()) === true) return text.toUpperCase();
  if (country === 'IE' && /^(?:co\.?|county) \p{L}/iu.test(text)) return text;
  return text === '' ? undefined : known?.names.get(fold(text));
}

/** "San Francisco CA", "Roma (RM)", "São Paulo - SP": a region code after the city. */
export function splitRegion(
  text: string,
  country: string,
): { readonly city: string; readonly region: string } | undefined {
  const [, city = '', region = ''] = /^(.*[\p{L}.])(?: | ?[-–/] ?| ?\()([A-Z]{2,3})\)?$/u.exec(text) ?? [];
  if (city === '') return undefined;
  const isOne = country === 'IT' ? region.length === 2 : regions.get(country)?.codes.has(region) === true;
  return isOne ? { city, region } : undefined;
}

/** Ranges of the first three digits of each region's postal codes. */
const codesOfRegions: Readonly<Record<string, string>> = {
  US: `AL 350-369|AK 995-999|AZ 850-865|AR 716-729|CA 900-961|CO 800-816|CT 060-069|DE 197-199|DC 200-200|DC 202-205|FL 320-349|
    GA 300-319|GA 398-399|HI 967-968|ID 832-838|IL 600-629|IN 460-479|IA 500-528|KS 660-679|KY 400-427|LA 700-714|ME 039-049|
    MD 206-219|MA 010-027|MA 055-055|MI 480-499|MN 550-567|MS 386-397|MO 630-658|MT 590-599|NE 680-693|NV 889-898|NH 030-038|
    NJ 070-089|NM 870-884|NY 005-005|NY 100-149|NC 270-289|ND 580-588|OH 430-459|OK 730-732|OK 734-749|OR 970-979|PA 150-196|
    RI 028-029|SC 290-299|SD 570-577|TN 370-385|TX 733-733|TX 750-799|TX 885-885|UT 840-847|VT 050-054|VT 056-059|VA 201-201|
    VA 220-246|WA 980-994|WV 247-268|WI 530-549|WY 820-831|PR 006-007|PR 009-009|VI 008-008|GU 969-969|MP 969-969|AS 967-967|
    AA 340-340|AE 090-099|AP 962-966`,
  AU: `ACT 020-029|ACT 260-261|ACT 290-292|NSW 100-299|VIC 300-399|VIC 800-899|QLD 400-499|QLD 900-999|SA 500-599|WA 600-699|
    TAS 700-799|NT 080-099`,
};
const shapes: Readonly<Record<string, RegExp>> = { US: /^\d{5}(?:-?\d{4})?$/, AU: /^\d{4}$/ };

const ranges = new Map(
  Object.entries(codesOfRegions).map(([country, list]) => [
    country,
    list.split('|').map((entry) => {
      const [region = '', from = '', to = ''] = entry.trim().split(/[ -]/);
      return { region, from, to };
    }),
  ]),
);

export function isCodeOfRegion(code: string, region: string, country: string): boolean {
  if (shapes[country]?.test(code) !== true) return false;
  const start = code.slice(0, 3);
  return ranges.get(country)?.some((one) => one.region === region && one.from <= start && start <= one.to) === true;
}

/** States whose ZIP codes are also valid in the country with the same two letters: parts of Idaho match Lombok (ID). */
const sharedCodes: Readonly<Record<string, RegExp>> = { ID: /^83[2356]/, SD: /^57/ };
/** Israel used five digits until 2013, and codes of these places look like Illinois ZIP codes. */
const israeli = /^(?:tel[ -]?aviv|jaffa|yafo|or yehuda|herzl|ramat|kfar|kibbutz|moshav)/i;

/** "TN 38103" at the end, as in American and Australian addresses, or the region's name near the end. */
export function isInOrder(region: string, pieces: readonly string[], country: string): boolean {
  const text = pieces.join(', ');
  if (new RegExp(`(?:^|[ ,])${region}\\.?,? \\d{4,5}(?:[ -]?\\d{4})?$`, 'i').test(text)) return true;
  const [name] = [...(regions.get(country)?.names ?? [])].find(([one, code]) => code === region && one !== '') ?? [];
  const end = pieces.slice(-3).map((piece) => fold(piece.replace(/\d/g, '')));
  return name !== undefined && end.some((piece) => piece.endsWith(name));
}

/**
 * Whether an apparent American state may also be a country or a province: "Trento, TN 38122" has a code that is also
 * valid in Tennessee. In an American street the number comes first.
 */
export function mayBeElsewhere({ region = '', postalCode = '', city = '', before }: Place): boolean {
  if (mayBeProvince(region, postalCode) && !hasNumberBeforeStreet(before)) return true;
  return sharedCodes[region]?.test(postalCode) === true || (region === 'IL' && israeli.test(city));
}

/** Whether an apparent country may also be a state of another country, as CA, DE and Georgia may. */
export function mayBeRegion(text: string): boolean {
  // An address of a military post office would not end in AE alone.
  if (text.toUpperCase() === 'AE') return false;
  return ['US', 'CA', 'AU'].some((country) => findRegion(text, country) !== undefined);
}

const territories = ['PR', 'VI', 'GU', 'MP', 'AS'];

/** A postal code that is also a ZIP code of the state. The US territories are both countries and states. */
export function isZipOfState(code: string, state: string): boolean {
  const isOne = isCodeOfRegion(code.replace(/[^\d]/g, ''), state, 'US');
  return territories.includes(state) ? !isOne : isOne;
}
