import type { OpenApiDocument } from '../kernel/http/openapi.ts';
import { codeBlock, shellCode } from './code.ts';
import { readDocument } from './docs/read-document.ts';
import { type Html, html } from './html.ts';
import { layout, type PageContext } from './layout.ts';

interface Step {
  readonly title: string;
  readonly command: string;
}

const json = `-H 'Content-Type: application/json'`;
const key = `-H "Authorization: Bearer $KEY"`;
const keepKey = `grep -o 'pa_live_[0-9A-Za-z]*'`;

/** Commands to paste into a shell. In the sandbox they work unchanged, also when pasted a second time. */
function firstPayment(baseUrl: string, mode: 'sandbox' | 'live'): readonly [Step, Step, Step] {
  const ask = (path: string, headers: readonly string[], body: string) =>
    [`curl -s ${baseUrl}${path}`, ...headers, `-d '${body}'`].join(' \\\n  ');
  const register = (body: string) => `KEY=$(${ask('/agent/register', [json], body)} | ${keepKey})`;
  const pay = (to: string) => ask('/agent/transfer', [key, json], `{"to":"${to}","amount":2.5,"currency":"USDC"}`);
  if (mode === 'live') {
    return [
      {
        title: 'Open an account and store its key',
        command: register('{"email":"you@example.com","password":"a long password","name":"You"}'),
      },
      {
        title: 'Add money: open the link in the response',
        command: ask('/circle/buy-session', [key, json], '{"amount":10}'),
      },
      { title: 'Pay by handle, email or phone', command: pay('somebody@example.com') },
    ];
  }
  return [
    {
      title: 'Open two accounts and store the key of the second',
      command: `for who in grace ada; do
${register(`{"email":"'$who'@example.com","password":"correct horse","name":"'$who'"}`)}
done`,
    },
    {
      title: 'Add money to it',
      command: ask('/sandbox/fund', [key, json], '{"amount":10}'),
    },
    { title: 'Pay the first account', command: pay('grace@example.com') },
  ];
}

/** The failures that /ready reports. */
export interface ReadinessProblems {
  /** Checks without which the service cannot answer. */
  readonly failing: readonly string[];
  /** Dependencies that do not answer, such as a chain; the service runs without them. */
  readonly away: readonly string[];
}

export function homePage(document: OpenApiDocument, context: PageContext, trouble: ReadinessProblems): Html {
  const { title, description, version, baseUrl, chapters } = readDocument(document);
  return layout(
    {
      title,
      description,
      name: 'home',
      styles: ['home.css'],
      body: html`
<main id="main">
<section class="hero">
${running(trouble)}
<h1>${description}</h1>
<p class="lead">${title} is a self-hosted payment service for USDC and EURC, with one JSON API for agents, apps and scripts.</p>
<p class="actions"><a class="primary" href="${context.base}/docs">Read the API reference</a><a href="${context.base}/api/openapi.json">OpenAPI 3.1 document</a></p>
</section>
<section class="start">
<div class="about"><h2>A first payment</h2>
<p>Run these three commands in a terminal, one after the other.</p>
<p class="note">${modeNote(context.mode)}</p></div>
<ol>${firstPayment(baseUrl, context.mode).map(
        ({ title: what, command }) => html`<li><h3>${what}</h3>${codeBlock('Terminal', shellCode(command))}</li>`,
      )}</ol>
</section>
<section class="chapters">
<h2>What it does</h2>
<ul>${chapters.map(
        (chapter) =>
          html`<li><a href="${context.base}/docs#${chapter.id}"><strong>${chapter.name}</strong><span>${chapter.description}</span></a></li>`,
      )}</ul>
</section>
</main>
<footer><p>${title} API ${version} <span class="dot">·</span> <code>${baseUrl}</code></p></footer>`,
    },
    context,
  );
}

function running({ failing, away }: ReadinessProblems): Html {
  if (failing.length > 0) return html`<p class="running not">Running, but not ready: ${failing.join(', ')}</p>`;
  if (away.length > 0) return html`<p class="running not">Running; not reachable at the moment: ${away.join(', ')}</p>`;
  return html`<p class="running">Running</p>`;
}

function modeNote(mode: PageContext['mode']): Html {
  return mode === 'sandbox'
    ? html`<strong>This is a sandbox.</strong> Everything works as in live mode, but the money is not real.`
    : html`<strong>This service is live.</strong> It moves real money. Replace the recipient in the third command.`;
}
