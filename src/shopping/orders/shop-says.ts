/**
 * A shop's words as a sentence of ours, which says whose they are. They stay within the quotes, and end before we go on: otherwise
 * a shop could speak to the buyer, or to the buyer's agent, in our voice.
 */
export function shopSays(words: string): string {
  const quoted = words.trim().replace(/["“”„‟«»＂〝〞〟]/g, "'");
  return `The shop says: "${quoted}"${/[.!?…。！？]$/.test(quoted) ? '' : '.'}`;
}
