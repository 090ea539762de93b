import { type Html, html, prose, separated } from '../html.ts';
import type { ErrorEntry } from './read-document.ts';

/** Longer lists of operations are collapsed. */
const mostShown = 6;

/** Every error code, at the anchor that the `type` of a problem names. */
export function errorChapter(errors: readonly ErrorEntry[], operationCount: number): Html {
  return html`
<section class="chapter" id="errors">
<header class="chapter-head"><h2><a class="self" href="#errors">Error codes</a></h2>
<p>The <code>type</code> of a problem links to its code below. The <code>detail</code> you receive may be more specific than the text here.</p></header>
${errors.map((error) => errorSection(error, operationCount))}
</section>`;
}

function errorSection({ code, status, title, detail, operations }: ErrorEntry, operationCount: number): Html {
  return html`
<article class="error" id="error-${code}">
<h3><a class="self" href="#error-${code}"><span class="status">${status}</span> <code>${code}</code></a></h3>
<div><p class="title">${title}</p>
<p>${prose(detail)}</p>
${answeredBy(operations, operationCount)}</div>
</article>`;
}

function answeredBy(operations: ErrorEntry['operations'], operationCount: number): Html {
  if (operations.length === 0)
    return html`<p class="answered-by">Returned by the server, independent of the operation.</p>`;
  if (operations.length > 1 && operations.length === operationCount)
    return html`<p class="answered-by">Any operation can return it.</p>`;
  const links = separated(operations.map(({ id, summary }) => html`<a href="#${id}">${summary}</a>`));
  if (operations.length <= mostShown) return html`<p class="answered-by">Returned by ${links}</p>`;
  return html`<details class="answered-by"><summary>Returned by ${operations.length} operations</summary><p>${links}</p></details>`;
}
