/** Escapes control characters in third-party text, so that it cannot manipulate the operator's terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{C}]/gu, (character) => JSON.stringify(character).slice(1, -1));
}
