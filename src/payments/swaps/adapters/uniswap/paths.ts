import { concat, encodeAbiParameters, encodePacked, getContractAddress, type Hex, keccak256 } from 'viem';
import { uniswap } from '../../../../chains/uniswap.ts';

/** What a pool may keep of each swap, in millionths. A pair may have a pool for each. */
const tiers = [100, 500, 3_000, 10_000] as const;

/** Of the code that every pool is made from: with it a pool's address is known without asking. */
const poolCodeHash: Hex = '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54';

/** One pool on the way, and the direction through it. */
export interface Hop {
  readonly pool: Hex;
  /** In millionths. */
  readonly fee: number;
  readonly from: Hex;
  readonly to: Hex;
}

export type Path = readonly Hop[];

/** Every way from one token to another: through one pool, or through two with one of the others between them. */
export function listPaths(from: Hex, to: Hex, others: readonly Hex[]): readonly Path[] {
  const direct = tiers.map((fee) => [toHop(from, to, fee)]);
  const overOne = others
    .filter((other) => other !== from && other !== to)
    .flatMap((other) =>
      tiers.flatMap((first) => tiers.map((second) => [toHop(from, other, first), toHop(other, to, second)])),
    );
  return [...direct, ...overOne];
}

/** As the contracts read it: token, fee, token, fee, token. */
export function encodePath(path: Path): Hex {
  const [first] = path;
  if (first === undefined) throw new RangeError('a path has at least one pool');
  return concat([first.from, ...path.map(({ fee, to }) => encodePacked(['uint24', 'address'], [fee, to]))]);
}

function toHop(from: Hex, to: Hex, fee: number): Hop {
  return { pool: poolAddress(from, to, fee), fee, from, to };
}

const known = new Map<string, Hex>();

function poolAddress(one: Hex, other: Hex, fee: number): Hex {
  const [token0, token1] = isFirst(one, other) ? [one, other] : [other, one];
  const name = `${token0}/${token1}/${fee}`;
  const found = known.get(name) ?? computeAddress(token0, token1, fee);
  known.set(name, found);
  return found;
}

function computeAddress(token0: Hex, token1: Hex, fee: number): Hex {
  const types = [{ type: 'address' }, { type: 'address' }, { type: 'uint24' }] as const;
  return getContractAddress({
    opcode: 'CREATE2',
    from: uniswap.factory,
    salt: keccak256(encodeAbiParameters(types, [token0, token1, fee])),
    bytecodeHash: poolCodeHash,
  });
}

/** Whether a token is the one that the price of their pool is of. */
export function isFirst(one: Hex, other: Hex): boolean {
  return BigInt(one) < BigInt(other);
}
