import type { Session, SessionLine } from './session.ts';

interface ShippingOption {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly cents: number;
}

interface Total {
  readonly type: 'subtotal' | 'fulfillment' | 'total';
  readonly display_text: string;
  readonly amount: number;
}

const expressCents = 900;

export const linePrice = ({ cents, quantity }: SessionLine) => cents * quantity;
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

/** Shipping options: heavy products cost per piece, express costs extra. */
export function shippingOptions(lines: readonly SessionLine[]): readonly ShippingOption[] {
  const cents = sum(lines.map(({ shippingCents, quantity }) => shippingCents * quantity));
  return [
    { id: 'standard', title: 'Standard', description: 'Three to five days', cents },
    { id: 'express', title: 'Express', description: 'The next day', cents: cents + expressCents },
  ];
}

export function chosenOption({ lines, optionId }: Session): ShippingOption | undefined {
  return shippingOptions(lines).find(({ id }) => id === optionId);
}

/** The parts add up to the total; prices include tax. */
export function totalsOf(session: Session): readonly Total[] {
  const subtotal = sum(session.lines.map(linePrice));
  const option = chosenOption(session);
  return [
    { type: 'subtotal', display_text: 'Subtotal', amount: subtotal },
    ...(option === undefined
      ? []
      : [{ type: 'fulfillment' as const, display_text: `${option.title} shipping`, amount: option.cents }]),
    { type: 'total', display_text: 'Total, tax included', amount: subtotal + (option?.cents ?? 0) },
  ];
}

export function totalOf(session: Session): number {
  return totalsOf(session).find(({ type }) => type === 'total')?.amount ?? 0;
}
