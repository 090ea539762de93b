import { readFileSync, statSync } from 'node:fs';
import type { Database } from '../kernel/db/database.ts';
import { Refusal } from '../kernel/refusal.ts';
import type { GivenSecrets } from '../kernel/secrets/open-secrets.ts';
import { loadSandbox } from './sandbox.ts';
import type { SecretSetting, ServiceSettings } from './settings.ts';

/** The operator's secrets. A sandbox without one makes its own. */
export async function readGivenSecrets(config: ServiceSettings, db: Database): Promise<GivenSecrets> {
  const old = readSecret(config.oldSecret);
  const next = readSecret(config.nextSecret);
  const current = readSecret(config.secret);
  if (old !== undefined && next !== undefined) {
    throw new Refusal(
      'PAYWRIGHT_SECRET_NEXT and PAYWRIGHT_SECRET_OLD are both set. Set one of them: a rotation replaces one secret at a time.',
    );
  }
  if (current === undefined && (old !== undefined || next !== undefined)) {
    throw new Refusal('PAYWRIGHT_SECRET is missing: set it beside PAYWRIGHT_SECRET_NEXT or PAYWRIGHT_SECRET_OLD.');
  }
  return {
    current: current ?? (await (await loadSandbox(config)).sandboxSecret(db)),
    ...(old !== undefined && { old }),
    ...(next !== undefined && { next }),
  };
}

function readSecret({ name, text, file }: SecretSetting): string | undefined {
  return text ?? (file === undefined ? undefined : readSecretFile(`${name}_FILE`, file));
}

function readSecretFile(name: string, file: string): string {
  let text: string;
  try {
    if ((statSync(file).mode & 0o077) !== 0) {
      throw new Refusal(`${name} can be read by other users: run chmod 600 on it.`);
    }
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(`${name} cannot be read: ${(error as Error).message}.`);
  }
  if (text.length < 32) throw new Refusal(`${name} must hold at least 32 characters.`);
  return text;
}
