/** The chains that wallets live on, by the interface's own ids. */
export type ChainId = 'MATIC' | 'ETH' | 'ARB' | 'BASE' | 'AVAX' | 'OP';

export interface NewWallet {
  /** How the provider knows the wallet. */
  readonly ref: string;
  readonly address: `0x${string}`;
}

/** Who holds the keys of our users' wallets. Adapters live in providers/. */
export interface WalletProvider {
  readonly name: string;
  createWallet(request: { readonly chain: ChainId }): Promise<NewWallet>;
}
