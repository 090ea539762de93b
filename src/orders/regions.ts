import { fold } from './countries.ts';

/** The parts of countries whose addresses name them: code and name, or a name alone. */
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
  /** By the name without case and accents: what we call it. */
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

/** The code of a region, or its name where it has none, by either of them. Undefined when the country has no such. */
export function findRegion(text: string, country: string): string | undefined {
  const known = regions.get(country);
  if (known?.codes.has(text.toUpperCase()) === true) return text.toUpperCase();
  if (country === 'IE' && /^(?:co\.?|county) \p{L}/iu.test(text)) return text;
  return text === '' ? undefined : known?.names.get(fold(text));
}

/** "San Francisco CA", "Roma (RM)", "São Paulo - SP": the code of a region behind its city. */
export function splitRegion(
  text: string,
  country: string,
): { readonly city: string; readonly region: string } | undefined {
  const [, city = '', region = ''] = /^(.*[\p{L}.])(?: | ?[-–/] ?| ?\()([A-Z]{2,3})\)?$/u.exec(text) ?? [];
  if (city === '') return undefined;
  const isOne = country === 'IT' ? region.length === 2 : regions.get(country)?.codes.has(region) === true;
  return isOne ? { city, region } : undefined;
}

/** Codes of states that are codes of countries too, and which ZIP codes such a state has where the country's look like them. */
const zipsOfStates: Readonly<Record<string, RegExp>> = {
  DE: /^19[789]/,
  ID: /^83[2-8]/,
  IL: /^6[012]\d{3}$/,
  KY: /^KY4/,
  LA: /^7(?:0|1[0-4])/,
  MA: /^0(?:1|2[0-7]|55)/,
  ME: /^0(?:39|4)/,
  MN: /^5(?:5|6[0-7])/,
  NC: /^2[78]/,
  SD: /^57/,
  VA: /^2[0-4]/,
};

/** Whether what may be a country may as well be a state of another, as CA, DE and Georgia may. */
export function mayBeRegion(text: string): boolean {
  // Nobody who means the army post office would leave out the rest.
  if (text.toUpperCase() === 'AE') return false;
  return ['US', 'CA', 'AU'].some((country) => findRegion(text, country) !== undefined);
}

export function isZipOfState(code: string, state: string): boolean {
  return zipsOfStates[state]?.test(code) === true;
}
