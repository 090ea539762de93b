import { OutgoingError } from '../../kernel/outgoing/outgoing.ts';
import { ParserError } from '../../kernel/parser/parser.ts';

/** Why reading a site failed. */
export type TroubleKind =
  /** The site does not support this platform, or the page cannot be used. */
  | 'not_offered'
  /** robots.txt or a bot wall denies access. */
  | 'forbidden'
  | 'unreachable'
  | 'too_slow'
  /** The address guard blocks the URL. */
  | 'refused'
  | 'given_up';

/** The message is a complete sentence that users can read. */
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

/** A busy parser or a crashed parser process is our fault; every other failure is the page's. */
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
