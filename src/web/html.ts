/** What may stand in a template: text is escaped, markup is kept, lists are joined, and nothing leaves nothing. */
export type Part = Html | string | number | false | null | undefined | readonly Part[];

/** Markup that is safe to send: only the `html` template makes it. */
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
 * The one way to write markup. Everything interpolated is escaped for text and for quoted attribute values, so an
 * attribute must always be written with quotes.
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

/** A sentence in which `backticks` mark code, as descriptions in the OpenAPI document have them. */
export function prose(text: string): Html {
  const pieces = text.split(/`([^`]+)`/);
  return html`${pieces.map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : piece))}`;
}

/** Items on one line, with a dot between them. */
export function separated(items: readonly Html[]): Html {
  return html`${items.map((item, index) => html`${index > 0 && html` <span class="dot">·</span> `}${item}`)}`;
}
