import { type Page, pagesOf } from './pages.ts';
import { createRandom, planLeaves } from './plan-leaves.ts';
import {
  createLeafSecrets,
  leafHash,
  nonceBytes,
  ownerHash,
  rootHash,
  type TreeName,
  type TreeNode,
  treeTag,
} from './tree-hash.ts';

export interface Claim {
  /** The account's handle. */
  readonly owner: string;
  readonly balance: bigint;
}

export interface TreeInput extends Omit<TreeName, 'depth'> {
  /** Users with a balance. */
  readonly claims: readonly Claim[];
  /** The house's own claims: fees, surplus, equity. */
  readonly house: bigint;
  /** For cuts and places. Discarded afterwards. */
  readonly seed: Buffer;
  /** For nonces and salts. Kept as long as the leaves. */
  readonly key: Buffer;
}

export interface BuiltTree {
  readonly depth: number;
  readonly root: Buffer;
  readonly total: bigint;
  /** The leaves of each claim, in the order of the claims. */
  readonly places: readonly Uint32Array[];
}

/** No handle looks like these. */
const houseOwner = 'the house';
const padding = 'nobody';

/**
 * Builds a tree and yields its pages as they are made. A generator that yields often, so that its caller decides when
 * to write pages and when to let other work run.
 */
export function* buildTree({ claims, house, seed, key, ...name }: TreeInput): Generator<Page | undefined, BuiltTree> {
  const random = createRandom(seed);
  const plan = yield* planLeaves({ balances: claims.map(({ balance }) => balance), house }, random);
  const { depth, amounts, firstPart, placeOfPart, partAtPlace } = plan;
  const size = 2 ** depth;
  const tag = treeTag({ ...name, depth });
  const secrets = createLeafSecrets(key);

  // Users in the order of the claims, the house, padding.
  const everybody = [...claims, { owner: houseOwner, balance: house }, { owner: padding, balance: 0n }];
  const ownerHashes: Buffer[] = [];
  const ownerOfPart = new Uint32Array(size);
  for (const [index, { owner, balance }] of everybody.entries()) {
    const first = firstPart[index] as number;
    const end = firstPart[index + 1] ?? size;
    ownerOfPart.fill(index, first, end);
    ownerHashes.push(ownerHash({ tag, salt: secrets.salt(owner), owner, balance, leaves: end - first }));
    if (index % 256 === 0) yield undefined;
  }

  function* leaves(): Generator<TreeNode> {
    const batch = 128;
    for (let first = 0; first < size; first += batch) {
      const nonces = secrets.nonces(first, batch);
      for (let place = first; place < first + batch; place++) {
        const part = partAtPlace[place] as number;
        const amount = amounts[part] as bigint;
        const owner = ownerHashes[ownerOfPart[part] as number] as Buffer;
        const nonceAt = (place - first) * nonceBytes;
        yield { hash: leafHash({ tag, place, owner, amount, nonces, nonceAt }), sum: amount };
      }
    }
  }

  const top = yield* pagesOf(leaves(), depth);
  const places: Uint32Array[] = [];
  for (let claim = 0; claim < claims.length; claim++) {
    places.push(placeOfPart.slice(firstPart[claim], firstPart[claim + 1]).sort());
    if (claim % 2_048 === 0) yield undefined;
  }
  return { depth, root: rootHash(tag, top), total: top.sum, places };
}
