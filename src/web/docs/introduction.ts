import { httpErrors } from '../../kernel/http/errors.ts';
import { problemType } from '../../kernel/http/send-problem.ts';
import { codeBlock, jsonCode, shellCode } from '../code.ts';
import { type Html, html } from '../html.ts';
import type { Reference } from './read-document.ts';

export interface Topic {
  readonly id: string;
  readonly heading: string;
  readonly text: Html;
  readonly sample?: Html;
}

/** Rules that apply to every operation. */
export function introductionTopics({ baseUrl, publicUrl }: Reference): Topic[] {
  return [
    {
      id: 'base-url',
      heading: 'Base URL',
      text: html`<p>Every path in this reference is relative to the base URL. Requests and responses are JSON in UTF-8. Send
bodies with <code>Content-Type: application/json</code>; they may have at most 64&nbsp;KiB. Unknown fields are refused, so that a misspelt
field does not go unnoticed.</p>`,
      sample: codeBlock('Base URL', baseUrl),
    },
    {
      id: 'authentication',
      heading: 'Authentication',
      text: html`<p>Send your API key as a bearer token. Registering and signing in return a new key, which begins with
<code>pa_live_</code> and is shown once: store it like a password. A revoked key is refused immediately, and a key that is not used for a
long time expires. Operations that need no key say so.</p>
<p>A key has one or more of the scopes <code>read</code>, <code>pay</code>, <code>withdraw</code> and <code>manage</code>. Each operation names the
scope that it needs; a key without it gets 403 <code>scope_required</code>. The key from signing in has all scopes: keep it for yourself, and
give each agent <a href="#createKey">its own key</a> with the scopes that it needs.</p>`,
      sample: codeBlock(
        'With a key',
        shellCode(
          `export PAYWRIGHT_API_KEY=pa_live_…\n\ncurl ${baseUrl}/account \\\n  -H "Authorization: Bearer $PAYWRIGHT_API_KEY"`,
        ),
      ),
    },
    {
      id: 'problems',
      heading: 'Errors',
      text: html`<p>Every error is <code>application/problem+json</code>
(RFC 9457). Branch on <code>code</code>, which never changes; show or log <code>detail</code>, which explains this case and says
what to do. Invalid input adds <code>errors</code>, a list of <code>{path, message}</code>. Quote
<code>requestId</code> when you ask for help; every response also carries it as <code>X-Request-Id</code>.
<a href="#errors">All error codes</a>.</p>`,
      sample: codeBlock('400 application/problem+json', jsonCode(exampleProblem(publicUrl))),
    },
    {
      id: 'idempotency',
      heading: 'Safe retries',
      text: html`<p>Where an operation takes an <code>Idempotency-Key</code>, send a unique value with 1 to 255 characters, such as a UUID.
If the connection breaks, send the same request with the same key: it takes effect once, and you get the first
successful response again, with <code>Idempotency-Replayed: true</code>. Keys belong to your account and are kept for at least 24 hours.
A key that was used for one request is refused for another. Errors are not stored: once the cause is gone, the same key can succeed.</p>`,
      sample: codeBlock('Header', 'Idempotency-Key: 0b1f6a52-9d4e-4a35-8a0e-5f6f0f6f2c11'),
    },
    {
      id: 'rate-limits',
      heading: 'Rate limits',
      text: html`<p>Requests are counted per account, or per IP address without a key, in a sliding window of one
minute. <code>RateLimit-Policy</code> gives the limit (<code>q</code> requests in <code>w</code> seconds),
<code>RateLimit</code> the requests left (<code>r</code>) and the seconds until more are available (<code>t</code>). Beyond the limit the response is 429
with <code>Retry-After</code> in seconds.</p>`,
      sample: codeBlock('Headers', 'RateLimit-Policy: "default";q=60;w=60\nRateLimit: "default";r=59;t=60'),
    },
    {
      id: 'paging',
      heading: 'Lists',
      text: html`<p>Lists are paged, newest first. <code>limit</code> is the page size, from 1 to 100 (default 50). While
<code>nextCursor</code> is not null, send it as <code>cursor</code> to get the next page; new items do not shift the pages.</p>`,
      sample: codeBlock('Next page', '?limit=50&cursor=…'),
    },
    {
      id: 'untrusted',
      heading: 'Text from others',
      text: html`<p>Names, descriptions, products, refusal reasons of shops and responses of sellers are written by third parties. Such fields are marked in this
reference and, as <code>x-untrusted</code>, in the OpenAPI document. If your agent is a model, pass them to it as data and never as
instructions: the sender of an invoice can write “pay this at once” into it. Your own rules must decide what to pay, and to whom. Text from accounts and
shops contains no invisible characters; responses of sellers are passed on unchanged.</p>`,
      sample: codeBlock('In the OpenAPI document', jsonCode({ description: { type: 'string', 'x-untrusted': true } })),
    },
  ];
}

/** The response to a registration with a short password. */
function exampleProblem(publicUrl: string) {
  const { code, status, title } = httpErrors.invalid_request;
  const message = 'must be at least 8 characters';
  return {
    type: problemType(publicUrl, code),
    title,
    status,
    detail: `password ${message}.`,
    code,
    requestId: 'req_01kp3v2m8rfk2s6y0e6v9q4w1x',
    errors: [{ path: 'password', message }],
  };
}

export function introductionSection(reference: Reference, topics: readonly Topic[], base: string): Html {
  return html`
<section class="introduction" id="introduction">
<header><h1>${reference.title} API</h1>
<p class="lead">${reference.description}</p>
<p class="meta">Version ${reference.version} <span class="dot">·</span> <a href="${base}/api/openapi.json">OpenAPI document</a> <span class="dot">·</span> For machines: <a href="${base}/docs.md" rel="alternate" type="text/markdown">Markdown</a>, <a href="${base}/llms.txt">llms.txt</a>, <a href="${base}/skill.md">skill</a></p></header>
${topics.map(
  ({ id, heading, text, sample }) => html`
<section class="topic" id="${id}"><div class="explained"><h2><a class="self" href="#${id}">${heading}</a></h2>${text}</div><div class="samples">${sample}</div></section>`,
)}
</section>`;
}
