import { refuseDuplicates } from '../refusal.ts';
import { type SealPurpose, sealPurposes } from './secrets.ts';

/** A column with sealed data, and the key of its rows. */
export interface SealedColumn {
  readonly table: string;
  readonly key: readonly [string, ...string[]];
  readonly column: string;
}

/** All data sealed for one purpose. The feature that seals it must declare it, or a rotation would miss it. */
export interface Sealed {
  readonly purpose: SealPurpose;
  /** Empty when the sealed data lives for minutes outside the database. */
  readonly columns: readonly SealedColumn[];
}

/** The hash keys of replaced secrets. */
const hashKeys: Sealed = {
  purpose: 'hash-keys',
  columns: [{ table: 'operator_secrets', key: ['fingerprint'], column: 'sealed_hash_keys' }],
};

/** Throws when a purpose is declared by no feature, or by two. */
export function allSealed(declared: readonly Sealed[]): readonly Sealed[] {
  const all = [hashKeys, ...declared];
  const purposes = all.map(({ purpose }) => purpose);
  refuseDuplicates('sealed purpose', purposes);
  const forgotten = sealPurposes.filter((purpose) => !purposes.includes(purpose));
  if (forgotten.length > 0)
    throw new Error(`no feature declares where it stores sealed data for: ${forgotten.join(', ')}`);
  return all;
}
