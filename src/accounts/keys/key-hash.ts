import type { Secrets } from '../../secrets.ts';

/** Whether a key may do everything, for as long as it is used, or less than that. */
export type KeyBreadth = 'whole' | 'narrowed';

/**
 * What is kept of a key. A narrowed one is hashed in a way of its own: a release from before keys had scopes does not find it and
 * refuses, where it would otherwise let it do everything.
 */
export function hashKey(secrets: Secrets, apiKey: string, breadth: KeyBreadth): Buffer {
  return secrets.hash('api-keys', textOf(apiKey, breadth));
}

/** All that a key may be kept as. */
export function hashesOfKey(secrets: Secrets, apiKey: string): readonly Buffer[] {
  return (['whole', 'narrowed'] as const).flatMap((breadth) => secrets.hashes('api-keys', textOf(apiKey, breadth)));
}

function textOf(apiKey: string, breadth: KeyBreadth): string {
  return breadth === 'whole' ? apiKey : `narrowed ${apiKey}`;
}
