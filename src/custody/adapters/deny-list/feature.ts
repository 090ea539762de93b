import { z } from 'zod';
import type { Feature } from '../../../kernel/feature.ts';
import { defineSettings, missing } from '../../../kernel/settings.ts';

interface DenyListSettings {
  /** Addresses that no money may go to, one per line. */
  readonly file: string | undefined;
}

export const denyList: Feature<{ settings: DenyListSettings }> = {
  name: 'deny-list',
  settings: defineSettings({
    variables: { DENY_LIST_FILE: z.string().optional() },
    readme: [
      '| `DENY_LIST_FILE` | `none`; live: must be said | addresses that no money goes to, one a line, `#` for comments; read again when it changes; one without an address is refused. `none`: nobody is screened |',
    ],
    read: ({ DENY_LIST_FILE }) => ({ file: DENY_LIST_FILE === 'none' ? undefined : DENY_LIST_FILE }),
    refuseLive: (env) =>
      missing(env, { DENY_LIST_FILE: 'addresses that no money goes to (DENY_LIST_FILE=none if there are none)' }),
  }),
};
