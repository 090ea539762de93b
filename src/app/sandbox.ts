import type { Mode } from '../kernel/settings.ts';
import type { Sandbox } from './sandbox-port.ts';

/** The one place that loads the sandbox: live mode is complete without it, and need not have it installed. */
export async function loadSandbox({ mode }: { readonly mode: Mode }): Promise<Sandbox> {
  if (mode === 'live') throw new Error('live mode uses nothing of the sandbox');
  return import('../../sandbox/open-sandbox.ts');
}
