/** What can be owned here, and how many decimals its smallest unit has. */
export const decimalsOf = { USDC: 6, EURC: 6, DAI: 18, ETH: 18, MATIC: 18, AVAX: 18 } as const;

export type Asset = keyof typeof decimalsOf;

export const assets = Object.keys(decimalsOf) as readonly Asset[];
