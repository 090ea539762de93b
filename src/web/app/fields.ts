import { type Html, html, prose } from '../html.ts';

/** What is wrong, by the name of the field; under '' what belongs to none. */
export type Faults = ReadonlyMap<string, string>;

/** Above the form, and announced. A fault of a field is told beside it. */
export function errorSummary(faults: Faults): Html {
  const general = faults.get('') ?? 'Something is missing or wrong below. Nothing was saved.';
  return html`${faults.size > 0 && html`<p class="alert" role="alert">${prose(general)}</p>`}`;
}

/** Attributes of the field. */
export function invalid(faults: Faults, name: string): Html {
  return html`${faults.has(name) && html` aria-invalid="true"`} aria-describedby="${name}-note"`;
}

/** Below the field: what is wrong with it, or what it means. */
export function fieldNote(faults: Faults, name: string, text: string | Html = ''): Html {
  const wrong = faults.get(name);
  if (wrong === undefined) return html`<p class="rule" id="${name}-note">${text}</p>`;
  return html`<p class="rule wrong" id="${name}-note">${prose(sentence(wrong))}</p>`;
}

/** "must be a number" becomes "This must be a number." */
function sentence(message: string): string {
  const text = /^[a-z]/.test(message) ? `This ${message}` : message;
  return text.endsWith('.') ? text : `${text}.`;
}

interface Choice {
  readonly type: 'radio' | 'checkbox';
  readonly name: string;
  readonly value?: string;
  readonly isChosen: boolean;
  readonly label: string;
  readonly note?: string;
}

export function choice({ type, name, value = 'on', isChosen, label, note }: Choice): Html {
  return html`<label class="choice"><input type="${type}" name="${name}" value="${value}"${isChosen && html` checked`}><span>${label}${note !== undefined && html` <span class="rule">${note}</span>`}</span></label>`;
}
