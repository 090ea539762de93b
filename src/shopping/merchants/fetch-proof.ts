import { randomBase62 } from '../../kernel/ids/ids.ts';
import { type Outgoing, type OutgoingAnswer, OutgoingError } from '../../kernel/outgoing/outgoing.ts';
import { type Parser, ParserError } from '../../kernel/parser/parser.ts';
import { taskOf } from '../../kernel/parser/task.ts';
import { parseUrl } from '../../kernel/text/parse-url.ts';
import { bytesOf } from '../search/merchant-site.ts';
import type { Website } from '../search/website.ts';
import type { readProof } from './reading/read-proof.ts';

const path = '/.well-known/paywright-merchant.txt';

/** The line that a domain must show, and where, to prove that the account owns it. */
interface Proof {
  readonly url: string;
  /** It names the account, so that a site owner is not tricked into publishing another account's line. */
  readonly content: string;
}

export function newProofToken(): string {
  return randomBase62(32);
}

export function proofFor({ origin, name }: Website, { handle, token }: { handle: string; token: string }): Proof {
  const { protocol } = new URL(origin);
  return { url: `${protocol}//${name}${path}`, content: `paywright-merchant ${handle} ${token}` };
}

/** Undefined if the proof is there; otherwise a sentence that says what was found instead. */
export type FetchProof = (proof: Proof) => Promise<string | undefined>;

/** Room for the lines of several accounts. */
const mostBytes = 16_384;
const timeoutMs = 5_000;
const mostRedirects = 3;
const proofIn = taskOf<typeof readProof>('readProof');
const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * Fetches the proof from the domain itself. A redirect may only add or drop www.: a file on another site proves nothing, and
 * neither does a custom error page.
 */
export function createFetchProof(
  { outgoing, parser }: { readonly outgoing: Outgoing; readonly parser: Parser },
  userAgent: () => string,
): FetchProof {
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
      if (!redirects.has(answer.status) || typeof location !== 'string') return judge(parser, answer, content);
      const next = parseUrl(location, at);
      if (next === undefined || !isSameFile(next, new URL(url))) {
        return `The site redirects to ${next === undefined ? 'an invalid URL' : showAddress(next)}, which is not the proof file.`;
      }
      at = next;
    }
    return 'The site redirects in a loop.';
  };
}

function isSameFile(next: URL, first: URL): boolean {
  const name = (url: URL) => url.host.replace(/^www\./, '');
  // Never downgrade from https to http.
  const isAsSafe = next.protocol === first.protocol || next.protocol === 'https:';
  return isAsSafe && name(next) === name(first) && next.pathname === first.pathname && next.username === '';
}

async function judge(parser: Parser, answer: OutgoingAnswer, line: string): Promise<string | undefined> {
  if (answer.status !== 200) return `The site responded with status ${answer.status}.`;
  const type = String(answer.headers['content-type'] ?? '');
  if (/html|xml/i.test(type)) return 'That URL returns a web page instead of a text file.';
  try {
    const { holdsIt, begin } = await parser.run(proofIn, { ...bytesOf(answer), line });
    if (holdsIt) return undefined;
    return begin === undefined
      ? 'The file is empty.'
      : `The file does not contain that line. It begins with “${begin}”.`;
  } catch (error) {
    if (error instanceof ParserError) return error.message;
    throw error;
  }
}

/** The URL parser has turned it into plain ASCII without markup. */
function showAddress({ host, pathname }: URL): string {
  const address = `${host}${pathname}`;
  return address.length > 120 ? 'another address' : address;
}
