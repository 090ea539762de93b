/** For the operator's terminal: whatever might steer it, in text that somebody else has chosen, is shown as an escape. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{C}]/gu, (character) => JSON.stringify(character).slice(1, -1));
}
