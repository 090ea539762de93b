/**
 * Quotes a shop inside a sentence of ours. Quotation marks are replaced, so that a shop cannot end the quotation and speak to the
 * buyer or the buyer's agent in our voice.
 */
export function shopSays(words: string): string {
  const quoted = words.trim().replace(/["“”„‟«»＂〝〞〟]/g, "'");
  return `The shop says: "${quoted}"${/[.!?…。！？]$/.test(quoted) ? '' : '.'}`;
}
