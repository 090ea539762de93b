import type { OpenApiDocument } from '../../kernel/http/openapi.ts';
import { type Html, html } from '../html.ts';
import { layout, type PageContext } from '../layout.ts';
import { errorChapter } from './error-chapter.ts';
import { introductionSection, introductionTopics } from './introduction.ts';
import { methodLabel, operationSection } from './operation.ts';
import { type Chapter, type Reference, readDocument } from './read-document.ts';
import { statePicture } from './state-picture.ts';

export function docsPage(document: OpenApiDocument, context: PageContext): Html {
  const reference = readDocument(document);
  const topics = introductionTopics(reference);
  const operationCount = reference.chapters.reduce((sum, { operations }) => sum + operations.length, 0);
  return layout(
    {
      title: `${reference.title} API reference`,
      description: reference.description,
      name: 'docs',
      styles: ['docs.css', 'fields.css', 'contents.css', 'states.css'],
      bar: html`<button class="menu" type="button" popovertarget="contents">Contents</button>`,
      body: html`
<div class="reference">
<nav class="contents" id="contents" popover aria-label="Contents">${contents(reference, topics)}</nav>
<main id="main">
${introductionSection(reference, topics, `${context.base}/api/openapi.json`)}
${reference.chapters.map((chapter) => chapterSection(chapter, reference.baseUrl))}
${errorChapter(reference.errors, operationCount)}
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
