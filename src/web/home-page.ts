import type { OpenApiDocument } from '../http/openapi.ts';
import { codeBlock, shellCode } from './code.ts';
import { curlFor } from './docs/curl.ts';
import { readDocument } from './docs/read-document.ts';
import { type Html, html } from './html.ts';
import { layout, type PageContext } from './layout.ts';

/** The front page: what this is, and the first thing to try. */
export function homePage(document: OpenApiDocument, context: PageContext): Html {
  const { title, description, version, baseUrl, chapters } = readDocument(document);
  const register = chapters.flatMap(({ operations }) => operations).find(({ id }) => id === 'registerAgent');
  return layout(
    {
      title,
      description,
      name: 'home',
      styles: ['home.css'],
      body: html`
<main id="main">
<section class="hero">
<h1>${description}</h1>
<p class="lead">${title} is a self-hosted payment service for USDC and EURC, with one JSON API for agents, apps and scripts.</p>
<p class="actions"><a class="primary" href="${context.base}/docs">Read the API reference</a><a href="${context.base}/api/openapi.json">OpenAPI 3.1 document</a></p>
</section>
<section class="start">
<div><h2>Open an account</h2>
<p>One request answers an API key, a handle and a wallet. Send the key with every request after it.</p>
<p class="note">${modeNote(context.mode)}</p></div>
${register !== undefined && codeBlock('Terminal', shellCode(curlFor(register, baseUrl)))}
</section>
<section class="chapters">
<h2>In the reference</h2>
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

function modeNote(mode: PageContext['mode']): Html {
  return mode === 'sandbox'
    ? html`<strong>This is a sandbox.</strong> Everything works as it does live, and the money is not real.`
    : html`<strong>This service is live.</strong> It moves real money.`;
}
