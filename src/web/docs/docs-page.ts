import type { OpenApiDocument, StatePicture } from '../../kernel/http/openapi.ts';
import { type Html, html, prose, separated } from '../html.ts';
import { layout, type PageContext } from '../layout.ts';
import { introductionSection, introductionTopics } from './introduction.ts';
import { methodLabel, operationSection } from './operation.ts';
import { type Chapter, type ErrorEntry, type Reference, readDocument } from './read-document.ts';

/** Longer lists of operations are collapsed. */
const mostShown = 6;

/** Every error code, at the anchor that the `type` of a problem names. */
function errorChapter(errors: readonly ErrorEntry[], operationCount: number): Html {
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

/** What the reference consists of, in its order. Each part has a Markdown file, too. */
export function docsParts(reference: Reference, base: string) {
  const { baseUrl, chapters, errors } = reference;
  const topics = introductionTopics(reference);
  const operationCount = chapters.reduce((sum, { operations }) => sum + operations.length, 0);
  return {
    topics,
    introduction: () => introductionSection(reference, topics, base),
    chapters: chapters.map((chapter) => ({ ...chapter, section: () => chapterSection(chapter, baseUrl) })),
    errors: () => errorChapter(errors, operationCount),
  };
}

export function docsPage(document: OpenApiDocument, context: PageContext): Html {
  const reference = readDocument(document);
  const { topics, introduction, chapters, errors } = docsParts(reference, context.base);
  return layout(
    {
      title: `${reference.title} API reference`,
      description: reference.description,
      name: 'docs',
      styles: ['docs.css', 'fields.css', 'contents.css', 'states.css'],
      markdown: '/docs.md',
      bar: html`<button class="menu" type="button" popovertarget="contents">Contents</button>`,
      body: html`
<div class="reference">
<nav class="contents" id="contents" popover aria-label="Contents">${contents(reference, topics)}</nav>
<main id="main">
${introduction()}
${chapters.map(({ section }) => section())}
${errors()}
</main>
</div>`,
    },
    context,
  );
}

function chapterSection({ id, name, description, states, operations }: Chapter, baseUrl: string): Html {
  return html`
<section class="chapter" id="${id}">
<header class="chapter-head"><h2><a class="self" href="#${id}">${name}</a></h2>
<p>${description}</p></header>
${states !== undefined && statePicture(states)}
${operations.map((operation) => operationSection(operation, baseUrl))}
</section>`;
}

function contents({ chapters }: Reference, topics: readonly { id: string; heading: string }[]): Html {
  return html`
<p><a href="#introduction">Introduction</a></p>
<ul>${topics.map(({ id, heading }) => html`<li><a href="#${id}">${heading}</a></li>`)}</ul>
${chapters.map(
  ({ id, name, operations }) => html`
<p><a href="#${id}">${name}</a></p>
<ul>${operations.map((operation) => html`<li><a href="#${operation.id}"><span>${operation.summary}</span> ${methodLabel(operation.method)}</a></li>`)}</ul>`,
)}
<p><a href="#errors">Error codes</a></p>`;
}

/** States as a line with stops; a second line leads to the failed state. */
export function statePicture({ caption, way, failed }: StatePicture): Html {
  return html`
<figure class="states">
<figcaption>${caption}</figcaption>
<ol>
${way.map(({ state, meaning, mayFail }) => stop(mayFail ? 'may-fail' : 'certain', state, meaning))}
${stop('failed', failed.state, failed.meaning)}
</ol>
</figure>`;
}

function stop(kind: 'may-fail' | 'certain' | 'failed', state: string, meaning: string): Html {
  return html`<li class="${kind}"><span class="track"></span><p><code>${state}</code> ${prose(meaning)}</p></li>`;
}
