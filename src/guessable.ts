import { createHash } from 'node:crypto';
import { commonPasswords } from './accounts/passwords/common-passwords.ts';

const fewestDifferent = 8;
const keyboardRows = ['qwertyuiop', 'asdfghjkl', 'zxcvbnm', '1234567890'];

/** What people write where a secret should stand. Long enough that chance does not spell any of them. */
const placeholders =
  /change.?me|password|passw0rd|secret|example|paywright|replace|placeholder|default|letmein|insert|production|character|goes.?here|fill.?this|correct.?horse/i;

/**
 * Why somebody could guess this secret, or undefined. It finds what was made up by hand or copied from a page, and lets
 * everything through that a generator has made: random text as short as 32 hexadecimal digits, and long passphrases.
 */
export function whyGuessable(secret: string): string | undefined {
  if (placeholders.test(secret)) return 'it contains a word that is the first to be tried';
  if (new Set(secret).size < fewestDifferent) return `it has fewer than ${fewestDifferent} different characters`;
  if (shareRepeated(secret) > 3 / 5) return 'it repeats itself';
  if (shareOfSteps(secret) > 2 / 3) return 'it follows the alphabet or the keyboard';
  if (isHashOfCommon(secret)) return 'it is the hash of something that is tried early';
  const words = wordsOf(secret);
  if (words !== undefined && isSentence(words)) return 'it is a sentence, and not words that chance has chosen';
  const bits = words === undefined ? bitsOfText(secret) : bitsPerWord * new Set(words).size;
  return bits < fewestBits ? 'it could be tried out' : undefined;
}

/** MD5, SHA-1 or SHA-256 of nothing or of a common password, with or without the end of the line, however it is written. */
function isHashOfCommon(secret: string): boolean {
  const read = [Buffer.from(secret, 'hex'), Buffer.from(secret, 'base64')];
  const lengths: readonly number[] = Object.values(hashes);
  const digests = read.filter(({ length }) => lengths.includes(length)).map(shorten);
  return digests.some((digest) => commonDigests().has(digest));
}

const hashes = { md5: 16, sha1: 20, sha256: 32 } as const;

/** The beginning is enough to know a digest by, and takes less room. */
const shorten = (digest: Buffer) => digest.toString('latin1', 0, 8);

let remembered: WeakRef<ReadonlySet<string>> | undefined;

/** Made once when the service starts, and let go afterwards. */
function commonDigests(): ReadonlySet<string> {
  const kept = remembered?.deref();
  if (kept !== undefined) return kept;
  const made = new Set<string>();
  for (const word of ['', ...commonPasswords()])
    for (const text of [word, `${word}\n`])
      for (const name of Object.keys(hashes)) made.add(shorten(createHash(name).update(text).digest()));
  remembered = new WeakRef(made);
  return made;
}

/** The words of a passphrase, in lower case. Undefined for everything that does not consist of words. */
function wordsOf(secret: string): readonly string[] | undefined {
  const pieces = secret.split(/[\s._,;:!?/+-]+/).filter((piece) => piece !== '');
  const words = pieces.filter((piece) => /^(?:[a-z]+|[A-Z][a-z]*|[A-Z]+)(?:['’][a-z]+)?$/.test(piece));
  return words.length >= 4 && words.length >= pieces.length * 0.7 ? words.map((word) => word.toLowerCase()) : undefined;
}

/** What sentences are held together by. Lists of words for passphrases have hardly any of these. */
const littleWords = new Set(
  `a about after all also am an and any are as at be been but by can could did do does for from had has have he her his how i if in into is it
   its just like me more my no not of on one only or other our out over she so some than that the their them then there these they this to up us
   was we were what when where which who will with would you your`.split(/\s+/),
);

function isSentence(words: readonly string[]): boolean {
  return words.filter((word) => littleWords.has(word)).length * 6 >= words.length;
}

/** A word of a list of a few thousand. */
const bitsPerWord = 12;

/** As many as seven such words, or twenty hexadecimal digits. */
const fewestBits = 80;

/** What its characters would carry if each stood there as often by chance. */
function bitsOfText(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()].reduce((sum, count) => sum + count * Math.log2(text.length / count), 0);
}

/** Which part of it, at most, is what stands a certain distance before it: all of it where one piece comes over and over. */
function shareRepeated(text: string): number {
  let most = 0;
  for (let distance = 1; distance <= text.length / 2; distance++) {
    let same = 0;
    for (let place = distance; place < text.length; place++) if (text[place] === text[place - distance]) same++;
    most = Math.max(most, same / (text.length - distance));
  }
  return most;
}

/** Which part of all neighbours is the same character twice, or one step further in the alphabet or on the keyboard. */
function shareOfSteps(text: string): number {
  const letters = text.toLowerCase();
  let steps = 0;
  for (let place = 1; place < letters.length; place++) {
    const [one, next] = [letters[place - 1] ?? '', letters[place] ?? ''];
    const inAlphabet = Math.abs(next.charCodeAt(0) - one.charCodeAt(0)) <= 1;
    const onKeyboard = keyboardRows.some((row) => row.includes(one + next) || row.includes(next + one));
    if (inAlphabet || onKeyboard) steps++;
  }
  return steps / (letters.length - 1);
}
