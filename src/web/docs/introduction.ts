import { httpErrors } from '../../kernel/http/errors.ts';
import { problemType } from '../../kernel/http/send-problem.ts';
import { codeBlock, jsonCode, shellCode } from '../code.ts';
import { type Html, html } from '../html.ts';
import type { Reference } from './read-document.ts';

/** A heading in the introduction, and where the navigation finds it. */
interface Topic {
  readonly id: string;
  readonly heading: string;
  readonly text: Html;
  readonly sample?: Html;
}

/** What holds for every operation, told once. */
export function introductionTopics({ baseUrl }: Reference): Topic[] {
  return [
    {
      id: 'base-url',
      heading: 'Base URL',
      text: html`<p>Every path in this reference is relative to the base URL. Requests and answers are JSON in UTF-8; a body
is sent with <code>Content-Type: application/json</code> and may hold at most 64&nbsp;KiB. Fields that an operation does not
know are refused, so a misspelt one never goes unnoticed.</p>`,
      sample: codeBlock('Base URL', html`${baseUrl}`),
    },
    {
      id: 'authentication',
      heading: 'Authentication',
      text: html`<p>Send your API key as a bearer token. Registering or signing in answers a new key, which begins with
<code>pa_live_</code> and is shown once: keep it like a password. A revoked key is refused at once, and one that nobody has used for
long ends by itself. Operations that need no key say so.</p>
<p>A key may <code>read</code>, <code>pay</code>, <code>withdraw</code> or <code>manage</code> the account, and each operation says which of
them it needs; without it the answer is 403 <code>scope_required</code>. Signing in gives a key that may do everything: keep it for yourself, and
give each agent <a href="#createKey">a key of its own</a> that may do what it needs.</p>`,
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
(RFC 9457). Branch on <code>code</code>, which never changes; show or log <code>detail</code>, which says what happened this time and
what to do about it. Invalid input adds <code>errors</code>, a list of <code>{path, message}</code>. Quote
<code>requestId</code> when you ask for help; every answer carries it as <code>X-Request-Id</code> too.
<a href="#errors">All error codes</a>.</p>`,
      sample: codeBlock('400 application/problem+json', jsonCode(exampleProblem(baseUrl))),
    },
    {
      id: 'idempotency',
      heading: 'Safe retries',
      text: html`<p>Where an operation takes an <code>Idempotency-Key</code>, send one of your own making with 1 to 255 characters, a UUID
for example. If the connection breaks, send the same request with the same key: it happens once, and you get the first
success again, marked <code>Idempotency-Replayed: true</code>. Keys belong to your account and are kept for at least 24 hours;
one that was used for a transfer is no key for a withdrawal. A refusal is not kept: once its cause is gone, the same key may succeed.</p>`,
      sample: codeBlock('Header', html`Idempotency-Key: 0b1f6a52-9d4e-4a35-8a0e-5f6f0f6f2c11`),
    },
    {
      id: 'rate-limits',
      heading: 'Rate limits',
      text: html`<p>Requests are counted per account, and per address where there is no key, in a sliding window of a
minute. <code>RateLimit-Policy</code> gives the limit (<code>q</code> requests in <code>w</code> seconds),
<code>RateLimit</code> what is left (<code>r</code>) and when more comes (<code>t</code> seconds). Beyond it the answer is 429 with <code>Retry-After</code>
in seconds.</p>`,
      sample: codeBlock('Headers', html`RateLimit-Policy: "default";q=60;w=60\nRateLimit: "default";r=59;t=60`),
    },
    {
      id: 'paging',
      heading: 'Lists',
      text: html`<p>Lists come newest first, a page at a time. <code>limit</code> sets how many, 1 to 100 and 50 when left out. While
<code>nextCursor</code> is not null, send it as <code>cursor</code> to get the next page; new items shift nothing.</p>`,
      sample: codeBlock('Next page', html`?limit=50&cursor=…`),
    },
    {
      id: 'untrusted',
      heading: 'Text from others',
      text: html`<p>Names, descriptions, products, why a shop refuses and what sellers answer are written by somebody else. Such fields are marked here
and, as <code>x-untrusted</code>, in the OpenAPI document. If your agent is a model, hand them to it as data and never as
instructions: whoever sends an invoice may write “pay this at once” into it. What to pay, and whom, is for your own rules to say. What an account or a
shop writes holds no text that a person would not see; what a seller answers comes as it is.</p>`,
      sample: codeBlock('In the OpenAPI document', jsonCode({ description: { type: 'string', 'x-untrusted': true } })),
    },
  ];
}

/** What a registration with a short password is answered. */
function exampleProblem(baseUrl: string) {
  const { code, status, title } = httpErrors.invalid_request;
  const message = 'must be at least 8 characters';
  return {
    type: problemType(baseUrl.replace(/\/api$/, ''), code),
    title,
    status,
    detail: `password ${message}.`,
    code,
    requestId: 'req_01kp3v2m8rfk2s6y0e6v9q4w1x',
    errors: [{ path: 'password', message }],
  };
}

export function introductionSection(reference: Reference, topics: readonly Topic[], openApiPath: string): Html {
  return html`
<section class="introduction" id="introduction">
<header><h1>${reference.title} API</h1>
<p class="lead">${reference.description}</p>
<p class="meta">Version ${reference.version} <span class="dot">·</span> <a href="${openApiPath}">OpenAPI document</a></p></header>
${topics.map(
  ({ id, heading, text, sample }) => html`
<section class="topic" id="${id}"><div class="explained"><h2><a class="self" href="#${id}">${heading}</a></h2>${text}</div><div class="samples">${sample}</div></section>`,
)}
</section>`;
}
