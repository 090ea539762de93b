import type { NewWallet } from './provider.ts';

/** Moves our own keys to another seed. */
export interface SeedRotation {
  /**
   * Returns the seed that waits for its backup to be confirmed, and creates it if there is none. No wallet comes from
   * it yet.
   */
  prepare(): Promise<number>;
  /**
   * The operator has a backup: from now on wallets come from this seed. Throws for any other seed than the prepared
   * one.
   */
  confirm(seedId: number): Promise<void>;
  /**
   * The wallet that replaces another. Deterministic, so that a restore from a backup with the seed gives everyone the
   * same addresses.
   */
  renew(ref: string, seedId: number): Promise<NewWallet>;
}
