import { describe, expect, it } from 'vitest';
import { codeBlock, jsonCode, shellCode } from './code.ts';
import { html, prose } from './html.ts';
import { markdownOf, proseAsMarkdown } from './markdown.ts';

const markdown = (page: Parameters<typeof markdownOf>[0]) => markdownOf(page, 'https://pay.example/base/docs');

describe('a page as Markdown', () => {
  it('has headings, paragraphs and code', () => {
    const page = html`<section><h2><a class="self" href="#x">A <code>b</code></a></h2>
<p>One
line.</p><div><p>Another, with <strong>weight</strong>.</p></div></section>`;
    expect(markdown(page)).toBe('## A `b`\n\nOne line.\n\nAnother, with **weight**.\n');
  });

  it('has absolute links, and no links within the page', () => {
    const page = html`<p><a href="/base/api/openapi.json">OpenAPI</a>, <a href="#errors">errors</a></p>`;
    expect(markdown(page)).toBe('[OpenAPI](https://pay.example/base/api/openapi.json), errors\n');
  });

  it('has fields as a list, and the fields within them below', () => {
    const page = html`<dl class="fields">
<div class="field"><dt><code>to</code> object <span class="required">required</span></dt><dd><p>Who.</p><div class="children"><dl class="fields">
<div class="field"><dt><code>email</code> string</dt><dd></dd></div></dl></div></dd></div></dl>`;
    expect(markdown(page)).toBe('- `to` object **required**: Who.\n  - `email` string\n');
  });

  it('has only the summary of what is collapsed', () => {
    expect(markdown(html`<details><summary>Of 12</summary><p>One, two, …</p></details>`)).toBe('Of 12\n');
  });

  it('names the language of code, and keeps every character of it', () => {
    const fence = (label: string, code: Parameters<typeof codeBlock>[1]) => markdown(codeBlock(label, code));
    expect(fence('200', jsonCode({ a: '<b> & `c`' }))).toBe('200\n\n```json\n{\n  "a": "<b> & `c`"\n}\n```\n');
    expect(fence('Terminal', shellCode(`curl -d '{"a":1}'`))).toBe(`Terminal\n\n\`\`\`sh\ncurl -d '{"a":1}'\n\`\`\`\n`);
    expect(fence('Text', '```\n  no end')).toBe('Text\n\n````\n```\n  no end\n````\n');
  });

  it.each([
    ['*not* _weight_, [not](a link), <not> markup', '\\*not\\* \\_weight\\_, \\[not\\](a link), \\<not> markup'],
    ['# no heading', '\\# no heading'],
    ['1. no item', '\\1. no item'],
    ['a\n\n- b', 'a - b'],
    ['&lt; as it is', '\\&lt; as it is'],
    ['a|b', 'a\\|b'],
    ['snake_case and 3 * 4', 'snake_case and 3 \\* 4'],
    ['one ` alone', 'one \\` alone'],
    ['`a_*b|<c>`', '`a_*b|<c>`'],
  ])('lets no text become markup: %s', (text, expected) => {
    expect(proseAsMarkdown(text)).toBe(expected);
  });

  it('puts code with backticks between more of them', () => {
    expect(markdown(html`<p><code>a\`b</code> <code>${'``'}</code></p>`)).toBe('``a`b`` ``` `` ```\n');
    expect(markdown(html`<p>${prose('`x`')}</p>`)).toBe('`x`\n');
  });
});
