const fewestDifferent = 8;
const keyboardRows = ['qwertyuiop', 'asdfghjkl', 'zxcvbnm', '1234567890'];

/** What people write where a secret should stand. Long enough that chance does not spell any of them. */
const placeholders =
  /change.?me|password|passw0rd|secret|example|paywright|replace|placeholder|default|letmein|insert/i;

/**
 * Why somebody could guess this secret, or undefined. It finds what was made up by hand or copied from a page, and lets
 * everything through that a generator has made: random text as short as 32 hexadecimal digits, and long passphrases.
 */
export function whyGuessable(secret: string): string | undefined {
  if (placeholders.test(secret)) return 'it contains a word that is the first to be tried';
  if (new Set(secret).size < fewestDifferent) return `it has fewer than ${fewestDifferent} different characters`;
  if (hasPeriod(secret)) return 'it repeats itself';
  if (shareOfSteps(secret) > 1 / 2) return 'it follows the alphabet or the keyboard';
  return undefined;
}

/** Whether it is one piece over and over, the last time perhaps not to its end. */
function hasPeriod(text: string): boolean {
  for (let period = 1; period <= text.length / 2; period++) {
    if (text.slice(period) === text.slice(0, -period)) return true;
  }
  return false;
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
