import type { FastifyReply } from 'fastify';
import { contentPolicy } from './content-policy.ts';
import { type Html, html, type Part } from './html.ts';

export interface PageContext {
  /** The path of the service on its host, "" at the root; every link begins with it. */
  readonly base: string;
  readonly mode: 'sandbox' | 'live';
  readonly assetUrl: (name: string) => string;
}

interface Page {
  readonly title: string;
  readonly description: string;
  readonly name: 'home' | 'docs' | 'invoice' | 'preview' | 'buy' | 'reset' | 'app';
  /** Search engines must not list pages whose address is private. */
  readonly unlisted?: true;
  /** The path of the same page as Markdown. */
  readonly markdown?: string;
  /** In addition to base.css. */
  readonly styles: readonly string[];
  /** In addition to page.js. */
  readonly scripts?: readonly string[];
  /** Omits the links to the reference, for people who pay and do not program. */
  readonly plain?: true;
  /** Shown in the bar at the top, beside the links. */
  readonly bar?: Html;
  readonly body: Html;
}

export function layout(page: Page, { base, mode, assetUrl }: PageContext): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title}</title>
<meta name="description" content="${page.description}">
${
  page.unlisted === true &&
  html`<meta name="robots" content="noindex, nofollow">
`
}${
  page.markdown !== undefined &&
  html`<link rel="alternate" type="text/markdown" href="${base}${page.markdown}">
`
}<link rel="icon" type="image/svg+xml" href="${assetUrl('mark.svg')}">
${['base.css', ...page.styles].map(
  (name) => html`<link rel="stylesheet" href="${assetUrl(name)}">
`,
)}${['page.js', ...(page.scripts ?? [])].map(
  (name) => html`<script src="${assetUrl(name)}" type="module"></script>
`,
)}</head>
<body class="${page.name}">
<a class="skip" href="#main">Skip to the content</a>
<header class="bar">
<a class="brand" href="${base}/"><img src="${assetUrl('mark.svg')}" alt="" width="24" height="24">Paywright</a>
${mode === 'sandbox' && html`<span class="mode">Sandbox</span>`}
${page.plain !== true && links(page, base)}
${page.bar}
</header>
${page.body}
</body>
</html>
`;
}

interface Saying extends Omit<Page, 'title' | 'description' | 'unlisted' | 'body'> {
  readonly heading: string;
  readonly text: Part;
  /** Both default to the heading. */
  readonly title?: string;
  readonly description?: string;
}

/** A page that says one thing, such as that a link is unknown. */
export function sayingPage(saying: Saying, context: PageContext): Html {
  const { heading, text, title = heading, description = heading, ...page } = saying;
  const body = html`
<main id="main">
<section class="missing"><h1>${heading}</h1>
<p class="lead">${text}</p></section>
</main>`;
  return layout({ ...page, title, description, unlisted: true, body }, context);
}

/** Sends a page with a private address: nobody may keep or list it. */
export function sendPrivate(reply: FastifyReply, page: Html, policy = contentPolicy): FastifyReply {
  return reply
    .headers({ 'Content-Security-Policy': policy, 'Cache-Control': 'no-store', 'X-Robots-Tag': 'noindex, nofollow' })
    .type('text/html; charset=utf-8')
    .send(page.toString());
}

function links({ name }: Page, base: string): Html {
  return html`<nav aria-label="Pages"><a href="${base}/docs"${name === 'docs' && html` aria-current="page"`}>Reference</a><a href="${base}/api/openapi.json">OpenAPI</a></nav>`;
}
