import { refuseTwice } from '../refuse-twice.ts';
import { type SealPurpose, sealPurposes } from './secrets.ts';

/** A column that holds what was sealed, and how its rows are told apart. */
export interface SealedColumn {
  readonly table: string;
  readonly key: readonly [string, ...string[]];
  readonly column: string;
}

/** Everything that is sealed for one purpose. Whoever seals it declares it, or a new secret would leave it behind. */
export interface Sealed {
  readonly purpose: SealPurpose;
  /** None when what is sealed lives for minutes, and not in the database. */
  readonly columns: readonly SealedColumn[];
}

/** What the secrets of before have hashed with. */
const hashKeys: Sealed = {
  purpose: 'hash-keys',
  columns: [{ table: 'operator_secrets', key: ['fingerprint'], column: 'sealed_hash_keys' }],
};

/** All of it. Throws when nobody has said where something is kept, or two have. */
export function allSealed(declared: readonly Sealed[]): readonly Sealed[] {
  const all = [hashKeys, ...declared];
  const purposes = all.map(({ purpose }) => purpose);
  refuseTwice('sealed purpose', purposes);
  const forgotten = sealPurposes.filter((purpose) => !purposes.includes(purpose));
  if (forgotten.length > 0) throw new Error(`no feature says where it keeps what it seals: ${forgotten.join(', ')}`);
  return all;
}
