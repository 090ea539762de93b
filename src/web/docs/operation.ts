import { STATUS_CODES } from 'node:http';
import { codeBlock, jsonCode, shellCode } from '../code.ts';
import { type Html, html, prose } from '../html.ts';
import { curlFor } from './curl.ts';
import { fieldList, fieldRow } from './fields.ts';
import type { Answer, Content, Operation, Parameter } from './read-document.ts';
import { typeInWords } from './schema.ts';

export function operationSection(operation: Operation, baseUrl: string): Html {
  const { id, method, path, summary, description } = operation;
  return html`
<section class="operation" id="${id}">
<div class="explained">
<h3><a class="self" href="#${id}">${summary}</a></h3>
<p class="endpoint">${methodLabel(method)} <code>${pathWithBreaks(path)}</code> <span class="access">${access(operation)}</span></p>
${description !== undefined && html`<p>${prose(description)}</p>`}
${parameterLists(operation.parameters)}
${operation.body !== undefined && html`<h4>Body</h4>${contentFields(operation.body, 'request')}`}
${operation.answers.map(answerFields)}
${errorLinks(operation)}
</div>
<div class="samples">
${codeBlock('Request', shellCode(curlFor(operation, baseUrl)))}
${operation.answers.map(answerSample)}
</div>
</section>`;
}

export function methodLabel(method: string): Html {
  return html`<span class="method ${method.toLowerCase()}">${method}</span>`;
}

function access({ needsKey, scope, scopeOfKey }: Operation): Html {
  const alternative = scopeOfKey !== undefined && html`, or one with the scope <code>${scopeOfKey}</code>`;
  if (!needsKey) return html`No API key needed${alternative}`;
  const allowed = scope !== undefined && scope !== 'any' && html` with the scope <code>${scope}</code>`;
  return html`<a href="#authentication">Needs an API key</a>${allowed}`;
}

/** Lets a long path wrap after a slash only. */
function pathWithBreaks(path: string): Html {
  return html`${path.split(/(?<=\/)/).map((step) => html`${step}<wbr>`)}`;
}

const placeNames = { path: 'Path', query: 'Query', header: 'Headers' } as const;

function parameterLists(parameters: readonly Parameter[]): Html[] {
  return (['path', 'query', 'header'] as const).flatMap((place) => {
    const here = parameters.filter((parameter) => parameter.in === place);
    if (here.length === 0) return [];
    return [html`<h4>${placeNames[place]}</h4><dl class="fields">${here.map(parameterRow)}</dl>`];
  });
}

function parameterRow({ name, schema = {}, required = false, description }: Parameter): Html {
  return fieldRow({ name, schema, required, description }, { resolve: (same) => same, direction: 'request' });
}

function contentFields({ schema, resolve, mediaType }: Content, direction: 'request' | 'answer'): Html {
  const fields = fieldList(schema, { resolve, direction });
  const unusual = mediaType !== 'application/json';
  return html`${unusual && html`<p class="media">As <code>${mediaType}</code></p>`}${
    fields ?? html`<p class="media">${typeInWords(schema, resolve)}</p>`
  }`;
}

function answerFields({ status, description, content }: Answer): Html {
  return html`<h4>${statusLabel(status)} ${prose(description)}</h4>${content !== undefined && contentFields(content, 'answer')}`;
}

function answerSample({ status, content }: Answer): Html | undefined {
  if (content?.example === undefined) return undefined;
  const code = typeof content.example === 'string' ? content.example : jsonCode(content.example);
  return codeBlock(`${status} ${STATUS_CODES[status] ?? ''}`.trim(), code);
}

function statusLabel(status: string): Html {
  return html`<span class="status">${status}</span>`;
}

function errorLinks({ errors }: Operation): Html | undefined {
  if (errors.length === 0) return undefined;
  return html`<h4>Errors</h4>
<ul class="errors">${errors.map(
    ({ code, status, title }) =>
      html`<li><a href="#error-${code}" title="${title}"><span class="status">${status}</span> <code>${code}</code></a></li>`,
  )}</ul>`;
}
