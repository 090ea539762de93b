import { type AccountId, accountParts } from '../../src/ledger/account-id.ts';
import type { Outcome, Posting } from '../../src/ledger/posting.ts';

const mirrors: ReadonlySet<unknown> = new Set(['custody', 'receivables']);
const mayFall = (account: AccountId) => mirrors.has(accountParts(account)?.kind);

/** The ledger as one would explain it on a napkin: balances in a map, postings one after the other. */
export class LedgerModel {
  readonly balances = new Map<AccountId, bigint>();
  readonly frozen = new Set<bigint>();
  readonly revoked = new Set<string>();
  readonly owners: ReadonlySet<bigint>;
  readonly #requests = new Map<string, { readonly hash: string; readonly posting: number }>();
  readonly #references = new Map<string, number>();
  #posted = 0;

  constructor(owners: Iterable<bigint>) {
    this.owners = new Set(owners);
  }

  /** The outcome that the real ledger must give too, and for a duplicate the number of the posting that it repeats. */
  post(posting: Posting): { readonly outcome: Outcome['outcome']; readonly posting?: number } {
    const { keyId, idempotency, reference, entries } = posting;
    if (keyId !== undefined && this.revoked.has(keyId)) return { outcome: 'key_revoked' };
    const request = idempotency === undefined ? undefined : `${idempotency.accountId} ${idempotency.key}`;
    const hash = idempotency?.requestHash ?? '';
    const earlier = request === undefined ? undefined : this.#requests.get(request);
    if (earlier !== undefined) {
      return earlier.hash === hash ? { outcome: 'duplicate', posting: earlier.posting } : { outcome: 'mismatch' };
    }
    const known = reference === undefined ? undefined : this.#references.get(reference);
    if (known !== undefined) return { outcome: 'duplicate', posting: known };

    const moves = entries.filter(({ atomic }) => atomic !== 0n);
    const ownerOf = (account: AccountId) => accountParts(account)?.ownerId ?? null;
    const isUnknown = (owner: bigint | null) => owner !== null && !this.owners.has(owner);
    if (moves.some(({ account }) => isUnknown(ownerOf(account)))) return { outcome: 'unknown_account' };
    const givers = moves.filter(({ atomic }) => atomic < 0n);
    if (givers.some(({ account }) => this.frozen.has(ownerOf(account) ?? 0n))) return { outcome: 'frozen_account' };
    const falls = ({ account, atomic }: (typeof moves)[number]) => this.balanceOf(account) + atomic < 0n;
    if (givers.some((entry) => !mayFall(entry.account) && falls(entry))) {
      return { outcome: 'insufficient_balance' };
    }

    for (const { account, atomic } of moves) this.balances.set(account, this.balanceOf(account) + atomic);
    const number = this.#posted++;
    if (request !== undefined) this.#requests.set(request, { hash, posting: number });
    if (reference !== undefined) this.#references.set(reference, number);
    return { outcome: 'posted', posting: number };
  }

  balanceOf(account: AccountId): bigint {
    return this.balances.get(account) ?? 0n;
  }
}
