import { type Amount, toDecimalText } from '../money/amount.ts';
import { type Html, html } from './html.ts';

/** With thousands separators and at least two decimals. */
export function amountText(amount: Amount): string {
  const [whole = '', decimals = ''] = toDecimalText(amount).split('.');
  return `${whole.replace(/\B(?=(?:\d{3})+$)/g, ',')}.${decimals.padEnd(2, '0')}`;
}

const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

/** Names the time zone, because the reader's is unknown. */
export function dateTimeText(date: Date): Html {
  const iso = date.toISOString();
  return html`<time datetime="${iso}">${day.format(date)}, ${iso.slice(11, 16)} UTC</time>`;
}

export function dayText(date: Date): Html {
  return html`<time datetime="${date.toISOString()}">${day.format(date)}</time>`;
}

/** For a moment of the current day. */
export function timeOfDay(date: Date): Html {
  const iso = date.toISOString();
  return html`<time datetime="${iso}">${iso.slice(11, 16)} UTC</time>`;
}
