import { createHash } from 'node:crypto';
import { type BuiltTree, buildTree, type Claim } from '../../src/custody/reserves/build-tree.ts';
import type { Page } from '../../src/custody/reserves/pages.ts';
import { type OpenLeaf, openLeaves } from '../../src/custody/reserves/read-proof.ts';
import { amountOf, toDecimalText } from '../../src/money/amount.ts';
import type { Asset } from '../../src/money/catalogue.ts';

/** As GET /account/proof answers it. */
export interface AccountProof {
  snapshotId: string;
  at: string;
  owner: string;
  proofs: { chain: string; asset: string; balance: string; root: string; total: string; leaves: OpenLeaf[] }[];
}
/** Throws when anything does not hold. */
type Verify = (proof: unknown, published?: unknown) => string[];
const script = new URL('../../scripts/verify-proof.mjs', import.meta.url);
export const { verifyProof } = (await import(script.href)) as { verifyProof: Verify };

const name = { snapshotId: 'rsv_1', at: '2026-01-02T03:04:05.678Z', chain: 'MATIC' };
export const bytes = (text: string) => createHash('sha256').update(text).digest();

/** A tree over balances of made-up owners, and their proofs. */
export function buildTestTree(
  balances: readonly bigint[],
  { house = 0n, seed = 'seed', asset = 'USDC' as Asset } = {},
) {
  const claims: Claim[] = balances.map((balance, index) => ({
    owner: `PA-${String(index).padStart(8, '0')}`,
    balance,
  }));
  const key = bytes(`key of ${seed}`);
  const building = buildTree({ ...name, asset, claims, house, seed: bytes(seed), key });
  const pages: Page[] = [];
  let tree: BuiltTree | undefined;
  while (tree === undefined) {
    const step = building.next();
    if (step.done) tree = step.value;
    else if (step.value !== undefined) pages.push(step.value);
  }
  const built = tree;
  const text = (atomic: bigint) => toDecimalText(amountOf(asset, atomic));
  const proofOf = (index: number): AccountProof => {
    const { owner, balance } = claims[index] as Claim;
    const leaves = openLeaves({
      asset,
      depth: built.depth,
      key,
      owner,
      places: built.places[index] as Uint32Array,
      pages,
    });
    const root = built.root.toString('hex');
    return {
      snapshotId: name.snapshotId,
      at: name.at,
      owner,
      proofs: [{ chain: 'MATIC', asset, balance: text(balance), root, total: text(built.total), leaves }],
    };
  };
  return { ...built, pages, proofOf, text };
}

export const leavesIn = (proof: AccountProof) => proof.proofs[0]?.leaves ?? [];
