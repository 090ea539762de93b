import type { Clock } from '../../kernel/clock.ts';
import type { Outgoing, OutgoingAnswer } from '../../kernel/outgoing/outgoing.ts';
import type { Allowance, Parser } from '../../kernel/parser/parser.ts';
import type { AnswerBytes, Task } from '../../kernel/parser/task.ts';
import { parseUrl } from '../../kernel/text/parse-url.ts';
import type { ShoppingAgent } from './agent.ts';
import { createExpiringCache } from './expiring-cache.ts';
import { MerchantTrouble, notOffered, toTrouble } from './merchant-trouble.ts';
import { mayRead, readRobots } from './tasks.ts';
import { isWithinSite, type Website } from './website.ts';

interface KnownRobots {
  /** As `readRobots` returns them. An empty text allows everything. */
  readonly rules: string;
  /** The server failed with a 5xx status. RFC 9309 then forbids reading anything. */
  readonly failed: boolean;
  /** The origin that answered; a redirect to www. shows up here. */
  readonly origin: string;
}

type RobotsCache = ReturnType<typeof createRobotsCache>;

/** The minimum that RFC 9309 requires a crawler to read. */
const mostRobotsBytes = 512_000;

const keepMs = 60 * 60_000;
/** The server may recover soon. */
const keepFailureMs = 60_000;

/** Caches robots.txt per origin. */
export function createRobotsCache({ clock }: { readonly clock: Clock }) {
  const memory = createExpiringCache<KnownRobots>({
    clock,
    keepMs,
    room: 16_000_000,
    weigh: ({ rules }) => rules.length + 1_000,
  });
  return {
    find: (origin: string) => memory.get(origin),
    keep(asked: string, known: KnownRobots): KnownRobots {
      for (const origin of [asked, known.origin]) memory.set(origin, known, known.failed ? keepFailureMs : keepMs);
      return known;
    },
  };
}

/** One shop's site during one search. Every request passes the address guard, the site's robots.txt and the limits below. */
export interface MerchantSite {
  /** Without a trailing slash. */
  readonly origin: string;
  readonly name: string;
  readonly agent: ShoppingAgent;
  /** Throws a MerchantTrouble if no response arrives. Follows redirects only within the site. */
  get(url: string, options?: GetOptions): Promise<MerchantAnswer>;
  /** The URL must come from the site itself, such as from its UCP profile. */
  postJson(url: string, body: unknown, headers: Readonly<Record<string, string>>): Promise<MerchantAnswer>;
  isWithin(url: URL): boolean;
}

interface GetOptions {
  readonly accept?: string;
  /** Truncate a longer body instead of failing. Use it for pages whose beginning is enough. */
  readonly cut?: boolean | undefined;
  /** Allow other hosts, because the URL comes from the site's own profile. */
  readonly elsewhere?: true;
  readonly maxBytes?: number;
}

export interface MerchantAnswer {
  readonly status: number;
  /** The final URL, after redirects. */
  readonly url: string;
  readonly headers: OutgoingAnswer['headers'];
  readonly bytes: Buffer;
  /** Runs a parser task on the body. Throws a MerchantTrouble if the task exceeds its time or memory limit. */
  read<Output>(task: Task<AnswerBytes, Output>): Promise<Output>;
  read<More, Output>(task: Task<AnswerBytes & More, Output>, more: More): Promise<Output>;
}

export interface SiteParts {
  readonly outgoing: Outgoing;
  readonly parser: Parser;
  readonly robots: RobotsCache;
  readonly agent: () => ShoppingAgent;
}

interface OpenSiteParts extends SiteParts {
  /** The account or address that the parser's fair scheduling counts this work for. */
  readonly holder?: string | undefined;
}

const timeoutMs = 4_500;
const mostBytes = 1_500_000;
const mostRedirects = 5;
/** Per search, so that a site cannot lead it on forever. */
const mostRequests = 40;
/** Parser time for all responses of one search. A typical page takes a few hundredths of a second. */
const readingMs = 4_000;
const redirects = new Set([301, 302, 303, 307, 308]);

/** Reads robots.txt first, because no other request is allowed before it. */
export async function openSite(
  { outgoing, parser, holder, robots, agent: describeUs }: OpenSiteParts,
  website: Website,
  signal: AbortSignal,
): Promise<MerchantSite> {
  const agent = describeUs();
  let requests = 0;
  const allowance: Allowance = { leftMs: readingMs };

  async function read<Input, Output>(task: Task<Input, Output>, input: Input): Promise<Output> {
    try {
      return await parser.run(task, input, { allowance, signal, holder });
    } catch (error) {
      throw toTrouble(error);
    }
  }

  async function send(request: Parameters<Outgoing['request']>[0]): Promise<OutgoingAnswer> {
    if (++requests > mostRequests)
      throw new MerchantTrouble('not_offered', 'The site leads from one page to the next.');
    try {
      return await outgoing.request({
        timeoutMs,
        maxBodyBytes: mostBytes,
        signal,
        ...request,
        headers: { 'user-agent': agent.userAgent, ...request.headers },
      });
    } catch (error) {
      throw toTrouble(error);
    }
  }

  /** Follows redirects one by one. `judge` checks each URL before it is requested. */
  async function follow(
    url: string,
    { accept, cut, maxBytes }: GetOptions,
    judge: (url: URL) => Promise<void>,
  ): Promise<{ answer: OutgoingAnswer; url: URL }> {
    let at = new URL(url);
    for (let hop = 0; hop <= mostRedirects; hop++) {
      await judge(at);
      const answer = await send({
        method: 'GET',
        url: at.href,
        ...(accept !== undefined && { headers: { accept } }),
        ...(maxBytes !== undefined && { maxBodyBytes: maxBytes }),
        truncateBody: cut === true,
      });
      const { location } = answer.headers;
      if (!redirects.has(answer.status) || typeof location !== 'string') return { answer, url: at };
      at = nextHop(location, at);
    }
    throw new MerchantTrouble('not_offered', 'The site redirects in circles.');
  }

  function nextHop(location: string, from: URL): URL {
    const next = parseUrl(location, from);
    if (next === undefined) throw notOffered('what it redirects to');
    // Some shops redirect to their own http URL. We stay on https.
    if (from.protocol === 'https:' && next.protocol === 'http:') next.protocol = 'https:';
    if (next.host !== from.host && !isWithinSite(website, next)) {
      throw new MerchantTrouble('not_offered', `The site leads on to ${showHost(next)}, which is another site.`);
    }
    next.hash = '';
    return next;
  }

  async function robotsOf(origin: string): Promise<KnownRobots> {
    const known = robots.find(origin);
    if (known !== undefined) return known;
    const { answer, url } = await follow(
      `${origin}/robots.txt`,
      { cut: true, maxBytes: mostRobotsBytes },
      async () => {},
    ).catch((error: MerchantTrouble) => {
      // A robots.txt that redirects in circles or off the site counts as missing.
      if (error.kind !== 'not_offered') throw error;
      return { answer: undefined, url: new URL(origin) };
    });
    const { status = 404 } = answer ?? {};
    return robots.keep(origin, {
      failed: status >= 500,
      rules:
        answer === undefined || status >= 300 ? '' : await read(readRobots, { ...bytesOf(answer), agent: agent.token }),
      // If the whole site has moved, robots.txt keeps its path on the new origin.
      origin: url.pathname === '/robots.txt' ? url.origin : origin,
    });
  }

  async function judge(url: URL): Promise<void> {
    if (!isWithinSite(website, url)) return;
    const { rules, failed } = await robotsOf(url.origin);
    if (failed)
      throw new MerchantTrouble('unreachable', 'The site is in trouble: it could not say what robots may read.');
    if (rules === '' || (await read(mayRead, { rules, path: url.pathname + url.search }))) return;
    throw new MerchantTrouble('forbidden', 'The site’s robots.txt asks us not to read this.');
  }

  const { origin, failed } = await robotsOf(website.origin);
  if (failed) await judge(new URL(website.origin));

  return {
    origin,
    name: website.name,
    agent,
    isWithin: (url) => isWithinSite(website, url),

    async get(url, { accept = 'text/html', cut, elsewhere, maxBytes = mostBytes } = {}) {
      // The URL can come from the shop and may be malformed.
      const at = parseUrl(url, origin);
      if (at === undefined || (!isWithinSite(website, at) && elsewhere !== true)) throw notOffered('what it links to');
      const { answer, url: from } = await follow(at.href, { accept, cut, maxBytes }, judge);
      return readable(answer, from.href, read);
    },

    async postJson(url, body, headers) {
      const at = new URL(url, origin);
      await judge(at);
      const answer = await send({
        method: 'POST',
        url: at.href,
        headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
      return readable(answer, at.href, read);
    },
  };
}

/** Handles the status codes that mean the same for every reader. */
function readable(
  answer: OutgoingAnswer,
  url: string,
  read: <Input, Output>(task: Task<Input, Output>, input: Input) => Promise<Output>,
): MerchantAnswer {
  if (answer.status === 429 || answer.status === 503) {
    throw new MerchantTrouble('unreachable', 'The site is busy and asks us to come back later.');
  }
  if (answer.status === 401 || answer.status === 403 || answer.status === 430) {
    throw new MerchantTrouble('forbidden', 'The site does not let programs read this.');
  }
  return {
    status: answer.status,
    url,
    headers: answer.headers,
    bytes: answer.body,
    read: <More, Output>(task: Task<AnswerBytes & More, Output>, more?: More) =>
      read(task, { ...bytesOf(answer), ...more } as AnswerBytes & More),
  };
}

export function bytesOf({ headers, body }: Pick<OutgoingAnswer, 'headers' | 'body'>): AnswerBytes {
  return { bytes: body, type: String(headers['content-type'] ?? '').slice(0, 200) };
}

/** The host is chosen by a stranger, so it is shown in its ASCII form and limited in length. */
function showHost({ hostname }: URL): string {
  return hostname.length > 100 ? 'another site' : hostname;
}
