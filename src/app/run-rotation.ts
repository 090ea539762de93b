import type { Database } from '../kernel/db/database.ts';
import { Refusal } from '../kernel/refusal.ts';
import { rotateSecret } from '../kernel/secrets/rotate-secret.ts';
import type { Config } from './config.ts';
import { readGivenSecrets } from './given-secrets.ts';
import { type ListedFeature, sealedOf } from './listed-feature.ts';

export interface RotationOptions {
  readonly config: Config;
  readonly db: Database;
  readonly url: string;
  readonly features: readonly ListedFeature[];
  readonly say: (line: string) => void;
}

/** `paywright rotate-secret`. The service keeps running. */
export async function runRotation({ config, db, url, features, say }: RotationOptions): Promise<void> {
  const { current, old } = await readGivenSecrets(config, db);
  if (old === undefined) {
    throw new Refusal('PAYWRIGHT_SECRET_OLD is missing: set it to the secret that PAYWRIGHT_SECRET replaces.');
  }
  await rotateSecret({ db, url, old, fresh: current, sealed: sealedOf(features), say });
  say('Everything is sealed with the new secret. Restart every process with PAYWRIGHT_SECRET only.');
}
