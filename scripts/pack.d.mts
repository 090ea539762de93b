interface Manifest {
  readonly [field: string]: unknown;
  readonly dependencies: Readonly<Record<string, string>>;
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly integrity?: string }>>;
}

export function packedManifest(manifest: Manifest): Manifest;
export function packedLock(lock: Lock, manifest: Manifest): Lock;
