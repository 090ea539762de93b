import { concat, encodeAbiParameters, encodePacked, getContractAddress, type Hex, keccak256 } from 'viem';
import { uniswap } from '../../../../chains/abi.ts';

/** Uniswap's fee tiers, in millionths. */
const tiers = [100, 500, 3_000, 10_000] as const;

/** The hash of the pools' init code, from which their CREATE2 addresses follow. */
const poolCodeHash: Hex = '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54';

/** One pool, and the direction through it. */
export interface Hop {
  readonly pool: Hex;
  /** In millionths. */
  readonly fee: number;
  readonly from: Hex;
  readonly to: Hex;
}

export type Path = readonly Hop[];

/** All paths from one token to another, direct or through one intermediate token. */
export function listPaths(from: Hex, to: Hex, others: readonly Hex[]): readonly Path[] {
  const direct = tiers.map((fee) => [toHop(from, to, fee)]);
  const overOne = others
    .filter((other) => other !== from && other !== to)
    .flatMap((other) =>
      tiers.flatMap((first) => tiers.map((second) => [toHop(from, other, first), toHop(other, to, second)])),
    );
  return [...direct, ...overOne];
}

/** As the contracts expect it: token, fee, token, fee, token. */
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

/** Whether `one` is token0 of their pool. */
export function isFirst(one: Hex, other: Hex): boolean {
  return BigInt(one) < BigInt(other);
}
