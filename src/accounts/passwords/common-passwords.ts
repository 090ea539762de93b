import { readFileSync } from 'node:fs';

const file = new URL('./common-passwords.txt', import.meta.url);

/** Words that identify the account and are therefore bad passwords. */
export interface KnownWords {
  readonly email?: string | null | undefined;
  readonly handle?: string | undefined;
  readonly name?: string | undefined;
}

let list: Buffer | undefined;

/** Whether the password is known from breaches or is a word that identifies the account. */
export function isTooCommon(password: string, known: KnownWords = {}): boolean {
  const folded = password.toLowerCase();
  return isListed(folded) || isOwnWord(folded, known);
}

/** A name with digits or symbols before or after it is still the name. */
function isOwnWord(password: string, { email, handle, name }: KnownWords): boolean {
  const bare = bareWord(password);
  const words = ['paywright', email, email?.split('@')[0], handle, name];
  return words.some((word) => {
    const folded = word?.toLowerCase();
    return folded !== undefined && (password === folded || (bare !== '' && bare === bareWord(folded)));
  });
}

function bareWord(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]/gu, '').replaceAll(/^\d+|\d+$/g, '');
}

/** The file is sorted by bytes, one password per line, so it is searched in place and needs no extra memory. */
function isListed(folded: string): boolean {
  list ??= readFileSync(file);
  const wanted = Buffer.from(folded);
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    const start = middle === 0 ? 0 : list.lastIndexOf('\n', middle - 1) + 1;
    const end = list.indexOf('\n', start);
    const order = wanted.compare(list, start, end);
    if (order === 0) return true;
    if (order < 0) to = start;
    else from = end + 1;
  }
  return false;
}

/** All common passwords, in lower case. */
export function commonPasswords(): readonly string[] {
  list ??= readFileSync(file);
  return list.toString('utf8').trimEnd().split('\n');
}
