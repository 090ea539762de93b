import { OutgoingError } from '../../kernel/outgoing/outgoing.ts';
import { ParserError } from '../../kernel/parser/parser.ts';

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
  if (error instanceof ParserError) return unreadable(error);
  throw error;
}

/** That we are busy, or that our own process ended, is not the site's fault; everything else is. */
function unreadable({ kind }: ParserError): MerchantTrouble {
  if (kind === 'given_up') return new MerchantTrouble('given_up', 'The search was given up.');
  if (kind === 'busy') return new MerchantTrouble('too_slow', 'Too many pages are being read. Try again in a moment.');
  if (kind === 'failed')
    return new MerchantTrouble('unreachable', 'The site could not be read. Try again in a moment.');
  return new MerchantTrouble('not_offered', 'A page of the site cannot be read within reason.');
}

export function notOffered(what: string): MerchantTrouble {
  return new MerchantTrouble('not_offered', `The site does not offer ${what}.`);
}
