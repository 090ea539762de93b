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
    docs: {
      room: 'Custody',
      rows: {
        DENY_LIST_FILE: {
          usual: '`none`',
          does: 'A file with the addresses that no money goes to, one per line, with `#` for comments. The service reads it again when it changes, and refuses a file without an address. `none` screens no address.',
          change: 'Always in live mode, which wants a file or an explicit `none`.',
        },
      },
    },
    read: ({ DENY_LIST_FILE }) => ({ file: DENY_LIST_FILE === 'none' ? undefined : DENY_LIST_FILE }),
    refuseLive: (env) =>
      missing(env, { DENY_LIST_FILE: 'addresses that no money goes to (DENY_LIST_FILE=none if there are none)' }),
  }),
};
