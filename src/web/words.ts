import { type Amount, toDecimalText } from '../money/amount.ts';
import { type Html, html } from './html.ts';

/** As money is written: thousands apart, and never fewer than two decimals. */
export function amountText(amount: Amount): string {
  const [whole = '', decimals = ''] = toDecimalText(amount).split('.');
  return `${whole.replace(/\B(?=(?:\d{3})+$)/g, ',')}.${decimals.padEnd(2, '0')}`;
}

const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** Where the reader is nobody knows, so the zone is said. */
export function moment(date: Date): Html {
  const iso = date.toISOString();
  const day = `${date.getUTCDate()} ${months[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
  return html`<time datetime="${iso}">${day}, ${iso.slice(11, 16)} UTC</time>`;
}

/** For what is today anyway. */
export function timeOfDay(date: Date): Html {
  const iso = date.toISOString();
  return html`<time datetime="${iso}">${iso.slice(11, 16)} UTC</time>`;
}
