import type { NewWallet } from './provider.ts';

/** How keys of our own come from another seed. */
export interface SeedRotation {
  /** The seed that waits until a backup is confirmed that holds it; it is made when there is none. It gives no wallets yet. */
  prepare(): Promise<number>;
  /** The operator has such a backup: from now on wallets come from this seed. Refused for any other than the one that waits. */
  confirm(seedId: number): Promise<void>;
  /**
   * The wallet that takes the place of another. It is the same one whenever it is asked for, so that after a restore from a backup
   * that holds the seed everybody gets the same addresses again.
   */
  renew(ref: string, seedId: number): Promise<NewWallet>;
}
