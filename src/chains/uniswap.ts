import type { Hex } from 'viem';

/** Uniswap v3 on Polygon. */
export const uniswap = {
  factory: '0x1F98431c8aD98523631AE4a59f267346ea31F984',
  /** QuoterV2: says what a swap would pay, by making it and reverting. */
  quoter: '0x61fFE014bA17989E743c5F6cB21bF9697530B21e',
  /** SwapRouter02. */
  router: '0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45',
} as const satisfies Record<string, Hex>;

/** Uniswap's own multicall: unlike the one that everybody uses it says how much gas each call may use. */
export const uniswapMulticall: Hex = '0x1F98415757620B543A52E61c46B32eB19261F984';
