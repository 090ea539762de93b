import { hash } from 'node:crypto';
import { commonPasswords } from '../accounts/passwords/common-passwords.ts';

const wordsIn = (text: string): readonly string[] => text.trim().split(/\s+/);

/** The passwords that lead every list of breaches, and what people call a thing that they try out. The longer list has none this short. */
const bestKnownPasswords = wordsIn(`
  0 1 12 123 1234 12345 123456 1234567 12345678 123456789 1234567890 0123456789 0000 00000000 000000 1111 111111 11111111
  112233 121212 123123 123321 123qwe 131313 159753 1q2w3e 1q2w3e4r 1qaz2wsx 222222 555555 654321 666666 696969 777777 7777777
  888888 987654321 999999 a aa aaa aaaaaa aa123456 abc abc123 abcd abcd1234 abcdef access admin admin1 admin123 administrator
  amanda andrew apple asdf asdfgh ashley bailey banana baseball batman buster changeme charlie cheese computer daniel default
  demo dev donald dragon example flower foo foobar football freedom fuckyou george ginger guest hannah harley hello
  hello123 helloworld hockey hunter hunter2 iloveyou jennifer jessica jesus jordan joshua key killer letmein live login
  love lovely maggie master matrix matthew michael mickey monkey monster mustang mypassword naruto nicole ninja nothing null
  orange p@ssw0rd pa55word pass pass123 passw0rd password password! password1 password1! password12 password123 paywright pepper
  pokemon postgres princess private prod production purple qazwsx qwer1234 qwerty qwerty1 qwerty123 qwertyuiop ranger
  robert root sandbox secret secret123 secretkey server shadow silver soccer solo starwars summer sunshine superman
  supersecret system taylor temp test test1 test123 test1234 tester testing thomas tigger token toor trustno1 undefined
  user welcome welcome1 whatever winter x xxx xxxxxx zaq12wsx zxcvbn
`).concat(['hello world', 'Hello, world!', 'Hello World!', 'correct horse battery staple']);

/** Beginnings or parts of what stands in manuals and test suites, in lower case and without signs. Chance spells none of them. */
const published = wordsIn(`
  1415926535897932 7182818284590452 4142135623730950 6180339887498948
  123e4567e89b12d3 550e8400e29b41d4 9dad11d180b400c04fd430c8 f81d4fae7dec11d0 6ba7b8109dad11d1
  ac0974bec39a17e3 59c6995e998f97a5 5de4111afa1a4b94 7c852118294e51e6 47e179ec19748859
  8b3a350cf5c34c91 92db14e403b83dfe 4bbbf85ce3377467 dbda1821b80551c9 2a871d0798f97d79 4f3edf983ac636a6
  2b7e151628aed2a6 603deb1015ca71be eyjhbgcioijiuzi1
  abandonabandonabandon testtesttesttest legalwinnerthankyear letteradvicecageabsurd zoozoozoozoo
  thequickbrownfox tobeornottobe loremipsumdolor kt4vq9xlm2wzr7pyc8hsd3fjb6nga5eu
`);

/** What programmers write for fun, and the digits in their order. Chance does spell one of them now and then. */
const magicWords = wordsIn(
  'deadbeef cafebabe cafed00d feedface baadf00d 8badf00d deadc0de badc0ffee c0ffee 0123456789abcdef fedcba9876543210 1234567890',
);

/**
 * What sentences are held together by: English, German, French, Spanish, Italian, Portuguese and Dutch. None of them is in
 * the lists that passphrases are made from.
 */
const littleWords: ReadonlySet<string> = new Set(
  wordsIn(`
  a am an and are as at be been but by could did do does for from had has he her his how i if in is it its me my no not of on or our
  out she so some than the their them these to up us was we were which who would
  aber alle als am auch auf aus bei bin bis das dass dem den der des die du ein eine einem einen einer er es für ganz habe ich
  ihr im ist ja kein mein meine meinen mich mir mit nach nicht noch nur oder ohne sehr sein sich sie sind über um und uns unser vom
  von vor war was wenn wer wie wir wird wo zu zum zur
  au aux avec ce cette dans de du elle en est et être il ils je la le les leur ma mais mes moi ne nous où par pas pour que qui sa ses son
  sont sur ta te toi tout tu un une vous y
  al como con cuando del donde el ella es esta este está ha hay las lo los más mi mis muy para pero por porque se ser si sin
  su sus también tengo tiene una yo
  che chi ci dei della delle di e ed gli ho il io mio mia nel nella non per più questo sono suo ti tra
  ao com da das do dos ela ele em eu foi isso mas meu minha na nas nos não o os ou pela são sua tem um uma você
  dat een en heeft het hij ik je maar met mijn naar niet ook op te voor wat wij zij zijn
`),
);

/** Days, months, seasons, numbers, planets, colours, the alphabet of radio: each is known with its next one. */
const knownLists: ReadonlySet<string> = new Set(
  wordsIn(`
  monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october
  november december spring summer autumn winter zero one two three four five six seven eight nine ten eleven twelve thirteen
  fourteen fifteen sixteen seventeen eighteen nineteen twenty first second third fourth fifth sixth seventh eighth ninth tenth
  mercury venus earth mars jupiter saturn uranus neptune pluto red orange yellow green blue indigo violet purple black white
  alpha alfa bravo charlie delta echo foxtrot golf hotel india juliet juliett kilo lima mike oscar papa quebec romeo sierra tango
  uniform victor whiskey xray yankee zulu beta gamma epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma
  tau upsilon phi chi psi omega montag dienstag mittwoch donnerstag freitag samstag sonntag eins zwei drei vier fünf sechs sieben
  acht neun zehn lundi mardi mercredi jeudi vendredi samedi dimanche un deux trois quatre cinq sept huit neuf dix lunes
  martes jueves viernes domingo uno dos tres cuatro cinco seis siete ocho nueve diez apple banana cherry cat dog
  north south east west lorem ipsum dolor sit amet consectetur adipiscing elit
`),
);

const fewestDifferent = 8;
const keyboardRows = ['qwertyuiop', 'asdfghjkl', 'zxcvbnm', '1234567890'];
const keyboardColumns = ['1qaz', '2wsx', '3edc', '4rfv', '5tgb', '6yhn', '7ujm', '8ik,', '9ol.', '0p;/'];
const keyboardLines = [...keyboardRows, ...keyboardColumns];

/** Placeholders that people leave in place of a secret. Each is too long to appear in random text by chance. */
const placeholders =
  /change.?me|password|passw0rd|secret|s3cr3t|example|paywright|replace|placeholder|default|letmein|insert|production|character|goes.?here|fill.?this|correct.?horse/i;

/**
 * The reason why an attacker could guess this secret, or undefined. Finds secrets that were made up by hand or copied from a page,
 * and accepts the output of generators: random text as short as 32 hexadecimal digits, and long passphrases.
 */
export function whyGuessable(secret: string): string | undefined {
  return whyGuessableText(secret) ?? whyGuessableBytes(secret);
}

function whyGuessableText(secret: string): string | undefined {
  if (placeholders.test(secret)) return 'it contains a word that attackers try first';
  if (new Set(secret).size < fewestDifferent) return `it has fewer than ${fewestDifferent} different characters`;
  if (shareRepeated(secret) > 3 / 5) return 'it repeats itself';
  if (shareOfSteps(secret) > 2 / 3 || shareOfEqualSteps(secret) > 2 / 3) {
    return 'it follows the alphabet or the keyboard';
  }
  if (isPublished(secret)) return 'it is published, so attackers try it early';
  if (hasHashOfCommon(secret)) return 'it is the hash of a text that attackers try early';
  const words = wordsOf(secret);
  if (words !== undefined && isSentence(words)) return 'it is a sentence and not a list of random words';
  if (words !== undefined && isKnownList(words)) return 'it is a well-known list';
  const bits = words === undefined ? bitsOfText(secret) : bitsPerWord * new Set(words).size;
  return bits < fewestBits ? 'an attacker could try all texts that are this simple' : undefined;
}

/** Text in hex or base64 is as easy to guess as the text itself. */
function whyGuessableBytes(secret: string): string | undefined {
  for (const bytes of decode(secret)) {
    const isText =
      /^[\p{L}\p{N}\p{P}\p{S}\s]+$/u.test(bytes.toString('utf8')) && !bytes.toString('utf8').includes('\ufffd');
    if (isText) return whyGuessable(bytes.toString('utf8').trim());
    if (shareOfEqualSteps(bytes.toString('latin1')) > 2 / 3) return 'it counts';
  }
  return undefined;
}

/** The bytes that a text may encode in hex or base64, without a label, quotes or blanks around it. */
function decode(secret: string): readonly Buffer[] {
  const hex = /(?:[0-9a-f]{2}[\s:-]?){16,}/i.exec(secret)?.[0].replaceAll(/[^0-9a-f]/gi, '') ?? '';
  const base64 = /[\w+/-]{20,}={0,2}\W*$/.exec(secret.replaceAll(/\s/g, ''))?.[0] ?? '';
  return [Buffer.from(hex, 'hex'), Buffer.from(base64, 'base64')].filter(({ length }) => length >= 15);
}

/** Finds constants and test keys from manuals. Short ones appear by chance, so the text without them is judged. */
function isPublished(secret: string): boolean {
  const bare = secret.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  if (published.some((text) => bare.includes(text))) return true;
  const rest = magicWords.reduce((text, word) => text.replaceAll(word, ''), bare);
  return rest !== bare && bitsOfText(rest) < fewestBits;
}

/**
 * Whether the secret contains the hash of the empty text or of a common password. Tools print hashes with labels, quotes, dashes and
 * colons, in hex or base64, and people shorten them: so the first bytes are searched for at every position.
 */
function hasHashOfCommon(secret: string): boolean {
  const known = commonDigests();
  const hex = secret.replaceAll(/[\s:-]/g, '');
  const base64 = secret.replaceAll(/\s/g, '');
  for (let place = 0; place < secret.length; place++) {
    if (known.has(startOf(Buffer.from(hex.slice(place, place + 2 * bytesKept), 'hex')))) return true;
    if (known.has(startOf(Buffer.from(base64.slice(place, place + 2 * bytesKept), 'base64')))) return true;
  }
  return false;
}

const algorithms = ['md5', 'sha1', 'sha256', 'sha384', 'sha512'];

/** Enough to recognise a digest, in less memory. */
const bytesKept = 8;

const startOf = (digest: Buffer) => digest.toString('latin1', 0, bytesKept);

let remembered: WeakRef<ReadonlySet<string>> | undefined;

/** Made once when the service starts; the garbage collector may take it afterwards. */
function commonDigests(): ReadonlySet<string> {
  const kept = remembered?.deref();
  if (kept !== undefined) return kept;
  const made = new Set<string>();
  const addAll = (words: readonly string[], ends: readonly string[]) => {
    for (const word of words)
      for (const end of ends) for (const name of algorithms) made.add(startOf(hash(name, word + end, 'buffer')));
  };
  addAll(commonPasswords(), ['', '\n']);
  addAll(['', ...bestKnownPasswords.flatMap(spellings)], ['', '\n', '\r\n']);
  remembered = new WeakRef(made);
  return made;
}

function spellings(word: string): readonly string[] {
  return [word, word.slice(0, 1).toUpperCase() + word.slice(1), word.toUpperCase()];
}

/** The words of a passphrase, in lower case. Undefined for everything that does not consist of words. */
function wordsOf(secret: string): readonly string[] | undefined {
  const pieces = secret.split(/[\s._,;:!?/+-]+/).filter((piece) => piece !== '');
  const words = pieces.filter((piece) => /^(?:\p{L}\p{Ll}*|\p{Lu}+)(?:['’]\p{Ll}+)?$/u.test(piece));
  // Base64 contains some of these separators, too: single letters between them are not words.
  const isText = words.join('').length >= pieces.join('').length * 0.75;
  const areMost = words.length >= 4 && words.length >= pieces.length * 0.7;
  return areMost && isText ? words.map((word) => word.toLowerCase()) : undefined;
}

function isSentence(words: readonly string[]): boolean {
  return words.filter((word) => littleWords.has(word)).length * 6 >= words.length;
}

function isKnownList(words: readonly string[]): boolean {
  return words.filter((word) => knownLists.has(word)).length * 2 >= words.length;
}

/** For a word chosen from a list of a few thousand. */
const bitsPerWord = 12;

/** As many as seven such words, or twenty hexadecimal digits. */
const fewestBits = 80;

/** The entropy of its characters, or less where the text looks like a language. */
function bitsOfText(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  const bits = [...counts.values()].reduce((sum, count) => sum + count * Math.log2(text.length / count), 0);
  return isLikeLanguage(text) ? Math.min(bits, bitsOfLanguage(text)) : bits;
}

/** In a sentence each letter is likely after the one before; a year is one of a hundred. */
function bitsOfLanguage(text: string): number {
  const years = text.match(/(?:19|20)\d\d/g)?.length ?? 0;
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  return 1.6 * letters + 6 * years + 3.3 * (text.length - letters - 4 * years);
}

/** The commonest neighbours in English, German, French, Spanish and Italian: three of four in a text, and one in six by chance. */
const commonPairs = new Set(
  `ac ad ag ai al an ap ar as at au be ce ch ci co da de di do ds ea ec ed ee ef ei el em en eo ep er es et fo fr
   ge gi gn ha he hi ho ia ib ic id ie ig in io ir is it ke la le li ll lo ma me mi na nc nd ne ng ni no ns nt oc
   od of ol om on or os ot ou ow pe po pr ra re ri ro rs rt sa sc se si sl so sp ss st sw ta td te th ti to tr ts
   tt tu tw un us ut ve wa wh`.split(/\s+/),
);

/**
 * Adds up for each pair of letters how much likelier it is in a language than by chance, in bits. Random letters reach
 * 24 bits less than once in 2 ** 24 times.
 */
function isLikeLanguage(text: string): boolean {
  let bits = 0;
  for (let place = 1; place < text.length; place++) {
    const pair = text.slice(place - 1, place + 1);
    if (/^(?:[A-Za-z][a-z]|[A-Z]{2})$/.test(pair)) bits += commonPairs.has(pair.toLowerCase()) ? 2.08 : -1.72;
  }
  return bits >= 24;
}

/** The largest share of characters that equal the one at a fixed distance before: 1 where one piece repeats throughout. */
function shareRepeated(text: string): number {
  let most = 0;
  for (let distance = 1; distance <= text.length / 2; distance++) {
    let same = 0;
    for (let place = distance; place < text.length; place++) if (text[place] === text[place - distance]) same++;
    most = Math.max(most, same / (text.length - distance));
  }
  return most;
}

/** The share of neighbours that are equal, or one step apart in the alphabet or on the keyboard. */
function shareOfSteps(text: string): number {
  const letters = withoutShift(text);
  let steps = 0;
  for (let place = 1; place < letters.length; place++) {
    const [one, next] = [letters[place - 1] ?? '', letters[place] ?? ''];
    const inAlphabet = Math.abs(next.charCodeAt(0) - one.charCodeAt(0)) <= 1;
    const onKeyboard = keyboardLines.some((line) => line.includes(one + next) || line.includes(next + one));
    if (inAlphabet || onKeyboard) steps++;
  }
  return steps / (letters.length - 1);
}

const shifted = '!@#$%^&*()';

/** The text that the same keys write without Shift. */
function withoutShift(text: string): string {
  return text.toLowerCase().replaceAll(/[!@#$%^&*()]/g, (sign) => '1234567890'[shifted.indexOf(sign)] ?? sign);
}

/** The share of steps from one character to the next that are as wide as the step before. */
function shareOfEqualSteps(text: string): number {
  let same = 0;
  const step = (place: number) => text.charCodeAt(place) - text.charCodeAt(place - 1);
  for (let place = 2; place < text.length; place++) if (step(place) === step(place - 1)) same++;
  return same / (text.length - 2);
}
