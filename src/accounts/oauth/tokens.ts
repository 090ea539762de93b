import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { openSignedText, signText } from './signed-text.ts';

type Signer = Pick<Secrets, 'hash' | 'hashes'>;

const accessPrefix = 'pa_access_';
const refreshPrefix = 'pa_refresh_';

export const accessSeconds = 3_600;

export interface AccessToken {
  readonly keyId: string;
  /** In milliseconds. */
  readonly endsAt: number;
}

export function looksLikeAccessToken(text: string): boolean {
  return text.startsWith(accessPrefix);
}

export function newAccessToken(secrets: Signer, { keyId, endsAt }: AccessToken): string {
  return signText(secrets, accessPrefix, `${keyId}.${Math.floor(endsAt / 1_000)}`);
}

/** Undefined where this service has not issued it. It may have ended. */
export function readAccessToken(secrets: Signer, text: string): AccessToken | undefined {
  const [keyId, seconds] = partsOf(secrets, accessPrefix, text);
  return keyId === undefined ? undefined : { keyId, endsAt: Number(seconds) * 1_000 };
}

export interface RefreshToken {
  readonly keyId: string;
  /** Each use gives the next one. */
  readonly number: number;
}

export function newRefreshToken(secrets: Signer, { keyId, number }: RefreshToken): string {
  return signText(secrets, refreshPrefix, `${keyId}.${number}`);
}

export function readRefreshToken(secrets: Signer, text: string): RefreshToken | undefined {
  const [keyId, number] = partsOf(secrets, refreshPrefix, text);
  return keyId === undefined ? undefined : { keyId, number: Number(number) };
}

function partsOf(secrets: Signer, prefix: string, text: string): readonly string[] {
  return openSignedText(secrets, prefix, text)?.split('.') ?? [];
}
