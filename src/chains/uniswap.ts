import type { Hex } from 'viem';

/** Uniswap v3 on Polygon. */
export const uniswap = {
  factory: '0x1F98431c8aD98523631AE4a59f267346ea31F984',
  /** QuoterV2 makes the swap and reverts, to report what it would pay. */
  quoter: '0x61fFE014bA17989E743c5F6cB21bF9697530B21e',
  /** SwapRouter02. */
  router: '0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45',
} as const satisfies Record<string, Hex>;

/** Unlike Multicall3, Uniswap's multicall limits and reports the gas of each call. */
export const uniswapMulticall: Hex = '0x1F98415757620B543A52E61c46B32eB19261F984';
