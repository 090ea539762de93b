/** ISO 3166-1: alpha-2 and alpha-3 of every country, concatenated. Kosovo has its commonly used code. */
const codes = `
  AFAFG AXALA ALALB DZDZA ASASM ADAND AOAGO AIAIA AQATA AGATG ARARG AMARM AWABW AUAUS ATAUT AZAZE BSBHS BHBHR BDBGD BBBRB
  BYBLR BEBEL BZBLZ BJBEN BMBMU BTBTN BOBOL BQBES BABIH BWBWA BVBVT BRBRA IOIOT BNBRN BGBGR BFBFA BIBDI CVCPV KHKHM CMCMR
  CACAN KYCYM CFCAF TDTCD CLCHL CNCHN CXCXR CCCCK COCOL KMCOM CGCOG CDCOD CKCOK CRCRI CICIV HRHRV CUCUB CWCUW CYCYP CZCZE
  DKDNK DJDJI DMDMA DODOM ECECU EGEGY SVSLV GQGNQ ERERI EEEST SZSWZ ETETH FKFLK FOFRO FJFJI FIFIN FRFRA GFGUF PFPYF TFATF
  GAGAB GMGMB GEGEO DEDEU GHGHA GIGIB GRGRC GLGRL GDGRD GPGLP GUGUM GTGTM GGGGY GNGIN GWGNB GYGUY HTHTI HMHMD VAVAT HNHND
  HKHKG HUHUN ISISL ININD IDIDN IRIRN IQIRQ IEIRL IMIMN ILISR ITITA JMJAM JPJPN JEJEY JOJOR KZKAZ KEKEN KIKIR KPPRK KRKOR
  KWKWT KGKGZ LALAO LVLVA LBLBN LSLSO LRLBR LYLBY LILIE LTLTU LULUX MOMAC MGMDG MWMWI MYMYS MVMDV MLMLI MTMLT MHMHL MQMTQ
  MRMRT MUMUS YTMYT MXMEX FMFSM MDMDA MCMCO MNMNG MEMNE MSMSR MAMAR MZMOZ MMMMR NANAM NRNRU NPNPL NLNLD NCNCL NZNZL NINIC
  NENER NGNGA NUNIU NFNFK MKMKD MPMNP NONOR OMOMN PKPAK PWPLW PSPSE PAPAN PGPNG PYPRY PEPER PHPHL PNPCN PLPOL PTPRT PRPRI
  QAQAT REREU ROROU RURUS RWRWA BLBLM SHSHN KNKNA LCLCA MFMAF PMSPM VCVCT WSWSM SMSMR STSTP SASAU SNSEN RSSRB SCSYC SLSLE
  SGSGP SXSXM SKSVK SISVN SBSLB SOSOM ZAZAF GSSGS SSSSD ESESP LKLKA SDSDN SRSUR SJSJM SESWE CHCHE SYSYR TWTWN TJTJK TZTZA
  THTHA TLTLS TGTGO TKTKL TOTON TTTTO TNTUN TRTUR TMTKM TCTCA TVTUV UGUGA UAUKR AEARE GBGBR USUSA UMUMI UYURY UZUZB VUVUT
  VEVEN VNVNM VGVGB VIVIR WFWLF EHESH YEYEM ZMZMB ZWZWE XKXKX`;

/** People write the country in their own language or in that of the country. */
const languages = 'de fr es it pt nl da sv nb fi pl cs sk hu ro hr sl et lv lt tr el uk ru ja ko zh'.split(' ');

/** Common names that Intl.DisplayNames does not know. */
const otherNames: Readonly<Record<string, string>> = {
  AE: 'UAE|Emirates',
  AT: 'Österreich',
  BE: 'België|Belgique',
  BR: 'Brasil',
  CD: 'DR Congo|DRC|Congo-Kinshasa|Democratic Republic of the Congo',
  CG: 'Republic of the Congo|Congo Republic|Congo-Brazzaville',
  CH: 'Schweiz|Suisse|Svizzera',
  CI: 'Ivory Coast',
  CV: 'Cabo Verde',
  CZ: 'Czech Republic',
  DE: 'Deutschland',
  DK: 'Danmark',
  ES: 'España',
  FI: 'Suomi',
  GB: 'UK|U.K.|Great Britain|Britain|England|Scotland|Wales|Northern Ireland',
  HK: 'Hong Kong SAR',
  IE: 'Republic of Ireland|Eire',
  IT: 'Italia',
  KR: 'Korea|Republic of Korea',
  LA: 'Lao PDR',
  MM: 'Burma',
  MO: 'Macau',
  NL: 'Holland|Nederland',
  NO: 'Norge',
  PL: 'Polska',
  RU: 'Russian Federation',
  SE: 'Sverige',
  SZ: 'Swaziland',
  TR: 'Turkey',
  US: 'United States of America|U.S.|U.S.A.',
  VA: 'Vatican',
  VN: 'Viet Nam',
};

/** Names that two countries share. */
const shared = new Set(['congo', 'kongo', 'lecongo', 'elcongo', 'ilcongo']);

export const countries: readonly string[] = codes
  .trim()
  .split(/\s+/)
  .map((pair) => pair.slice(0, 2));

/** Removes spelling differences: case, accents, dots, "the" and "and". */
export function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toUpperCase()
    .toLowerCase()
    .replace(/^the (?=.)| and (?=.)/g, ' ')
    .replace(/[^\p{L}\p{N}]/gu, '');
}

export function isNameOfSeveral(text: string): boolean {
  return shared.has(fold(text));
}

let names: ReadonlyMap<string, string> | undefined;

/** Finds the alpha-2 code by either code, or by the name in English or another language. */
export function findCountry(text: string): string | undefined {
  names ??= namesOfCountries();
  return names.get(fold(text));
}

function namesOfCountries(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const styles = (['long', 'short'] as const).map(
    (style) => new Intl.DisplayNames('en', { type: 'region', style, fallback: 'none' }),
  );
  for (const pair of codes.trim().split(/\s+/)) {
    const [two, three] = [pair.slice(0, 2), pair.slice(2)];
    const given = [...styles.map((style) => style.of(two) ?? ''), ...(otherNames[two]?.split('|') ?? [])];
    // Intl.DisplayNames says "Hong Kong SAR China" and "Myanmar (Burma)".
    const plain = given.map((name) => name.replace(/ SAR China$| \(.*\)$/, ''));
    for (const name of [two, three, ...given, ...plain]) if (name !== '') found.set(fold(name), two);
  }
  addForeignNames(found);
  for (const name of shared) found.delete(name);
  return found;
}

/** Adds names in other languages, except names of another country or names as short as a code. */
function addForeignNames(found: Map<string, string>): void {
  const foreign = new Map<string, Set<string>>();
  for (const language of languages) {
    const names = new Intl.DisplayNames(language, { type: 'region', fallback: 'none' });
    for (const country of countries) {
      const name = fold(names.of(country) ?? '');
      if (name !== '' && !/^[a-z]{1,3}$/.test(name)) foreign.set(name, (foreign.get(name) ?? new Set()).add(country));
    }
  }
  for (const [name, [only = '', ...others]] of foreign)
    if (others.length === 0 && !found.has(name)) found.set(name, only);
}
