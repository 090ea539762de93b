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
  return undefined;
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
