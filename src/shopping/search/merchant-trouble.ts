import { httpErrors } from '../../kernel/http/errors.ts';
import type { Problem } from '../../kernel/http/problem.ts';
import { OutgoingError } from '../../kernel/outgoing/outgoing.ts';
import { ParserError } from '../../kernel/parser/parser.ts';
import { shoppingErrors } from './errors.ts';

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

/** The error for a search in which every platform failed. */
export function searchErrorFor(troubles: readonly MerchantTrouble[]): Problem {
  const find = (kind: TroubleKind) => troubles.find((trouble) => trouble.kind === kind)?.message;
  const refused = find('refused');
  if (refused !== undefined && troubles.every(({ kind }) => kind === 'refused')) {
    const message = `cannot be searched: ${refused.replace(/\.$/, '')}`;
    return httpErrors.invalid_request(`website ${message}.`, { errors: [{ path: 'website', message }] });
  }
  const slow = find('too_slow') ?? find('given_up');
  if (slow !== undefined) return shoppingErrors.merchant_too_slow(slow);
  const forbidden = find('forbidden');
  if (forbidden !== undefined) return shoppingErrors.merchant_unsupported(forbidden);
  const unreachable = find('unreachable');
  if (unreachable !== undefined) return shoppingErrors.merchant_unreachable(unreachable);
  // If every platform failed for the same reason, name it. Otherwise the shop supports none of them.
  const [first] = troubles;
  const alike = troubles.length > 0 && troubles.every(({ message }) => message === first?.message);
  return shoppingErrors.merchant_unsupported(alike ? first?.message : undefined);
}
