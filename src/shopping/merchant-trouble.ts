import { OutgoingError } from '../outgoing/outgoing.ts';

/** Why a way to read a site did not work out. */
export type TroubleKind =
  /** The site does not offer this. */
  | 'not_offered'
  /** The site asks us not to, by its robots.txt or by a wall against bots. */
  | 'forbidden'
  | 'unreachable'
  | 'too_slow'
  /** The guard of outgoing requests does not let it through. */
  | 'refused'
  | 'given_up';

/** Its message is a whole sentence that a user may read. */
export class MerchantTrouble extends Error {
  override readonly name = 'MerchantTrouble';
  readonly kind: TroubleKind;

  constructor(kind: TroubleKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

const kinds: Readonly<Record<OutgoingError['code'], TroubleKind>> = {
  refused: 'refused',
  timeout: 'too_slow',
  unreachable: 'unreachable',
  too_large: 'not_offered',
  given_up: 'given_up',
};

export function toTrouble(error: unknown): MerchantTrouble {
  if (error instanceof MerchantTrouble) return error;
  if (error instanceof OutgoingError) return new MerchantTrouble(kinds[error.code], error.message);
  throw error;
}

export function notOffered(what: string): MerchantTrouble {
  return new MerchantTrouble('not_offered', `The site does not offer ${what}.`);
}
