import { chosenOption } from './price-session.ts';
import type { Destination, Notice, Session, SessionLine } from './session.ts';

/** UCP's checkout status. */
type Status =
  | 'incomplete'
  | 'requires_escalation'
  | 'ready_for_complete'
  | 'complete_in_progress'
  | 'completed'
  | 'canceled';

export interface Assessment {
  readonly status: Status;
  readonly notices: readonly Notice[];
}

interface Circumstances {
  readonly stockOf: (slug: string) => number;
  readonly refuseAddress: boolean;
}

/** The status of a checkout and what it lacks. Computed on each request, because stock changes. */
export function assessSession(session: Session, circumstances: Circumstances): Assessment {
  if (session.state === 'completing') return { status: 'complete_in_progress', notices: [] };
  if (session.state !== 'open') return { status: session.state, notices: [] };
  if (session.needsBuyer) return { status: 'requires_escalation', notices: [buyerNeeded] };
  const missing = [...aboutStock(session.lines, circumstances), ...aboutShipping(session, circumstances)];
  if (missing.length > 0) return { status: 'incomplete', notices: missing };
  return {
    status: 'ready_for_complete',
    notices: session.paymentRefused === undefined ? [] : [paymentFailed(session.paymentRefused)],
  };
}

const buyerNeeded: Notice = {
  code: 'identity_required',
  content: 'A person has to confirm this order in the shop.',
  severity: 'requires_buyer_input',
};

export function paymentFailed(content: string): Notice {
  return { code: 'payment_failed', content, severity: 'recoverable', path: '$.payment' };
}

function aboutStock(lines: readonly SessionLine[], { stockOf }: Circumstances): readonly Notice[] {
  return lines.flatMap(({ slug, title }, index): readonly Notice[] => {
    const wanted = lines.reduce((sum, line) => sum + (line.slug === slug ? line.quantity : 0), 0);
    const stock = stockOf(slug);
    if (wanted <= stock) return [];
    const content = stock === 0 ? `${title} is sold out.` : `There are only ${stock} of ${title}.`;
    return [{ code: 'out_of_stock', content, severity: 'recoverable', path: `$.line_items[${index}]` }];
  });
}

const method = '$.fulfillment.methods[0]';

const neededParts = {
  street_address: 'a street',
  address_locality: 'a city',
  postal_code: 'a postal code',
  address_country: 'a country as two letters',
} as const satisfies Partial<Record<keyof Destination, string>>;

function aboutShipping(session: Session, { refuseAddress }: Circumstances): readonly Notice[] {
  const { destination, optionId } = session;
  if (destination === undefined) return [ask('address_required', 'Where shall it be sent?', `${method}.destinations`)];
  const lacking: string[] = Object.entries(neededParts)
    .filter(([part]) => (destination[part as keyof Destination] ?? '').trim() === '')
    .map(([, words]) => words);
  if (`${destination.first_name ?? ''}${destination.last_name ?? ''}`.trim() === '') lacking.unshift('a name');
  if (lacking.length > 0) {
    return [ask('address_incomplete', `The address lacks ${lacking.join(', ')}.`, `${method}.destinations[0]`)];
  }
  if (refuseAddress || !/^[A-Za-z]{2}$/.test(destination.address_country ?? '')) {
    return [ask('address_undeliverable', 'We do not deliver to this address.', `${method}.destinations[0]`)];
  }
  if (chosenOption(session) !== undefined) return [];
  const content = optionId === undefined ? 'How shall it be sent?' : 'There is no such way to send it.';
  return [ask('option_required', content, `${method}.groups[0].selected_option_id`)];
}

function ask(code: string, content: string, path: string): Notice {
  return { code, content, severity: 'recoverable', path };
}

/** Whether the address is complete, so that shipping options can be offered. */
export function isDeliverable(session: Session, circumstances: Circumstances): boolean {
  return aboutShipping(session, circumstances).every(({ code }) => code === 'option_required');
}
