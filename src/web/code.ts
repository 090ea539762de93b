import { type Html, html } from './html.ts';

/** The name of the matching group becomes the CSS class. */
const jsonTokens =
  /(?<key>"(?:[^"\\]|\\.)*"(?=:))|(?<text>"(?:[^"\\]|\\.)*")|(?<value>\b(?:true|false|null)\b|-?\b\d[\d.eE+-]*)/g;
const shellTokens = /(?<text>'(?:[^']|'\\'')*'|"[^"]*")|(?<key>(?<=\s)-{1,2}[A-Za-z][\w-]*)/g;

/** page.js adds a copy button to it. */
export function codeBlock(label: string, code: Html): Html {
  return html`<figure class="code"><figcaption>${label}</figcaption><pre tabindex="0"><code>${code}</code></pre></figure>`;
}

export function jsonCode(value: unknown): Html {
  return highlight(JSON.stringify(value, null, 2) ?? '', jsonTokens);
}

export function shellCode(command: string): Html {
  return highlight(command, shellTokens);
}

function highlight(code: string, tokens: RegExp): Html {
  const parts: (Html | string)[] = [];
  let end = 0;
  for (const match of code.matchAll(tokens)) {
    const kind = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined)?.[0] ?? '';
    parts.push(code.slice(end, match.index), html`<span class="${kind}">${match[0]}</span>`);
    end = match.index + match[0].length;
  }
  parts.push(code.slice(end));
  return html`${parts}`;
}
