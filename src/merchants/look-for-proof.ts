import { type Outgoing, type OutgoingAnswer, OutgoingError } from '../outgoing/outgoing.ts';
import { parseUrl } from '../parse-url.ts';
import { cleanText } from '../shopping/clean-text.ts';
import { readText } from '../shopping/read-answer.ts';
import type { Proof } from './proof.ts';

/** Undefined when it is there, else one sentence about what was found instead. */
export type LookForProof = (proof: Proof) => Promise<string | undefined>;

/** One line is all we ask for. Who has more in the file has the lines of others too. */
const mostBytes = 16_384;
const timeoutMs = 5_000;
const mostRedirects = 3;
const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * Reads the file as the domain itself gives it out. It may say that it is found with or without www., and nowhere else: what
 * another site shows is no proof, nor is a page that people are shown when something is not there.
 */
export function createProofLook(outgoing: Outgoing, userAgent: () => string): LookForProof {
  return async ({ url, content }) => {
    let at = new URL(url);
    for (let hop = 0; hop <= mostRedirects; hop++) {
      const answer = await outgoing
        .request({
          method: 'GET',
          url: at.href,
          headers: { 'user-agent': userAgent(), accept: 'text/plain' },
          timeoutMs,
          maxBodyBytes: mostBytes,
        })
        .catch((error: unknown) => {
          if (error instanceof OutgoingError) return error;
          throw error;
        });
      if (answer instanceof OutgoingError) return answer.message;
      const { location } = answer.headers;
      if (!redirects.has(answer.status) || typeof location !== 'string') return judge(answer, content);
      const next = parseUrl(location, at);
      if (next === undefined || !isSameFile(next, new URL(url))) {
        return `The site leads on to ${next === undefined ? 'no address' : showAddress(next)}, which is another place.`;
      }
      at = next;
    }
    return 'The site redirects in circles.';
  };
}

function isSameFile(next: URL, first: URL): boolean {
  const name = (url: URL) => url.host.replace(/^www\./, '');
  // Never from https down to http.
  const isAsSafe = next.protocol === first.protocol || next.protocol === 'https:';
  return isAsSafe && name(next) === name(first) && next.pathname === first.pathname && next.username === '';
}

function judge(answer: OutgoingAnswer, content: string): string | undefined {
  if (answer.status !== 200) return `The site answered with status ${answer.status}.`;
  const type = String(answer.headers['content-type'] ?? '');
  if (/html|xml/i.test(type)) return 'There is a web page at that address, and not a text file.';
  const lines = readText(answer)
    .replace(/^\ufeff/, '')
    .split(/\r\n|\n|\r/)
    .map((line) => line.trim());
  if (lines.includes(content)) return undefined;
  const first = cleanText(
    lines.find((line) => line !== ''),
    100,
  );
  return first === undefined ? 'The file is empty.' : `The file does not hold that line. It begins with “${first}”.`;
}

function showAddress({ host, pathname }: URL): string {
  const shown = cleanText(`${host}${pathname}`, 120);
  return shown ?? 'another address';
}
