import { type Html, html } from './html.ts';

/** The name of the matching group becomes the CSS class. */
const tokens = {
  json: /(?<key>"(?:[^"\\]|\\.)*"(?=:))|(?<text>"(?:[^"\\]|\\.)*")|(?<value>\b(?:true|false|null)\b|-?\b\d[\d.eE+-]*)/g,
  sh: /(?<text>'(?:[^']|'\\'')*'|"[^"]*")|(?<key>(?<=\s)-{1,2}[A-Za-z][\w-]*)/g,
};

/** The code is text, or what `jsonCode` and `shellCode` return. page.js adds a copy button. */
export function codeBlock(label: string, code: Html | string): Html {
  const element = typeof code === 'string' ? html`<code>${code}</code>` : code;
  return html`<figure class="code"><figcaption>${label}</figcaption><pre tabindex="0">${element}</pre></figure>`;
}

export function jsonCode(value: unknown): Html {
  return highlight(JSON.stringify(value, null, 2) ?? '', 'json');
}

export function shellCode(command: string): Html {
  return highlight(command, 'sh');
}

function highlight(code: string, language: keyof typeof tokens): Html {
  const parts: (Html | string)[] = [];
  let end = 0;
  for (const match of code.matchAll(tokens[language])) {
    const kind = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined)?.[0] ?? '';
    parts.push(code.slice(end, match.index), html`<span class="${kind}">${match[0]}</span>`);
    end = match.index + match[0].length;
  }
  parts.push(code.slice(end));
  return html`<code class="language-${language}">${parts}</code>`;
}
