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
