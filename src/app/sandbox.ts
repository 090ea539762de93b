import { Refusal } from '../kernel/refusal.ts';
import type { Mode } from '../kernel/settings.ts';
import type { Sandbox } from './sandbox-port.ts';

/** The only place that loads the sandbox, so that a live build works without the folder. */
export async function loadSandbox({ mode }: { readonly mode: Mode }): Promise<Sandbox> {
  if (mode === 'live') throw new Error('live mode must not load the sandbox');
  try {
    return await import('../../sandbox/open-sandbox.ts');
  } catch (error) {
    if (isMissing(error)) throw new Refusal('This build has no sandbox: set PAYWRIGHT_MODE to live.');
    throw error;
  }
}

/** Whether the folder itself is missing, and not one of its dependencies. */
function isMissing(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_MODULE_NOT_FOUND') return false;
  return 'url' in error && /\/open-sandbox\.m?js$/.test(String(error.url));
}
