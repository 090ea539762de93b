/** Text is escaped, Html is kept, lists are joined, and false, null and undefined render as nothing. */
export type Part = Html | string | number | false | null | undefined | readonly Part[];

/** Escaped markup. Only the `html` template creates it. */
export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

/**
 * Interpolated values are escaped for text and for quoted attribute values, so attributes must always have quotes.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.map((literal, index) => literal + render(parts[index])).join(''));
}

function render(part: Part): string {
  if (part === undefined || part === null || part === false) return '';
  if (part instanceof Html) return part.toString();
  if (typeof part === 'string' || typeof part === 'number') return escapeText(String(part));
  return part.map(render).join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

/** Renders `backticks` as code, as descriptions in the OpenAPI document use them. */
export function prose(text: string): Html {
  const pieces = text.split(/`([^`]+)`/);
  return html`${pieces.map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : piece))}`;
}

/** Joins items with a dot. */
export function separated(items: readonly Html[]): Html {
  return html`${items.map((item, index) => html`${index > 0 && html` <span class="dot">·</span> `}${item}`)}`;
}
