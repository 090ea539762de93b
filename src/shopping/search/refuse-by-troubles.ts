import { httpErrors } from '../../kernel/http/errors.ts';
import type { Problem } from '../../kernel/http/problem.ts';
import { shoppingErrors } from './errors.ts';
import type { MerchantTrouble, TroubleKind } from './merchant-trouble.ts';

/** The error for a search in which every platform failed. */
export function refuseByTroubles(troubles: readonly MerchantTrouble[]): Problem {
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
