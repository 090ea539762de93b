import { hash } from 'node:crypto';
import { commonPasswords } from '../accounts/passwords/common-passwords.ts';
import { bestKnownPasswords, knownLists, littleWords, magicWords, published } from './known-texts.ts';

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
