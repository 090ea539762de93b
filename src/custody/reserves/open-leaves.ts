import { amountOf, toDecimalText } from '../../money/amount.ts';
import type { Asset } from '../../money/catalogue.ts';
import { createLeafSecrets } from './leaf-secrets.ts';
import { createBranchReader, type Page } from './pages.ts';

/** A leaf with everything its owner needs to verify it. Amounts and sums are decimal text, bytes are hex. */
export interface OpenLeaf {
  readonly index: number;
  readonly amount: string;
  readonly nonce: string;
  readonly ownerSalt: string;
  /** The sibling at each step, from the leaf up. */
  readonly branch: { readonly hash: string; readonly sum: string; readonly side: 'left' | 'right' }[];
}

export interface LeavesToOpen {
  readonly asset: Asset;
  readonly depth: number;
  readonly key: Buffer;
  /** The account's handle. */
  readonly owner: string;
  readonly places: Iterable<number>;
  /** At least the pages on the branches of these places. */
  readonly pages: readonly Page[];
}

export function openLeaves({ asset, depth, key, owner, places, pages }: LeavesToOpen): OpenLeaf[] {
  const secrets = createLeafSecrets(key);
  const ownerSalt = secrets.salt(owner).toString('hex');
  const reader = createBranchReader(pages, depth);
  const text = (atomic: bigint) => toDecimalText(amountOf(asset, atomic));
  return Array.from(places, (place) => ({
    index: place,
    amount: text(reader.leaf(place).sum),
    nonce: secrets.nonces(place, 1).toString('hex'),
    ownerSalt,
    branch: reader.branch(place).map(({ hash, sum, side }) => ({ hash: hash.toString('hex'), sum: text(sum), side })),
  }));
}
