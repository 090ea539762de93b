import { z } from 'zod';
import type { Feature } from '../../feature.ts';
import { defineSettings } from '../../settings.ts';

interface DenyListSettings {
  /** Addresses that no money may go to, one a line. */
  readonly file: string | undefined;
}

export const denyList: Feature<DenyListSettings> = {
  name: 'deny-list',
  settings: defineSettings({
    variables: { DENY_LIST_FILE: z.string().optional() },
    readme: [
      '| `DENY_LIST_FILE` | none | addresses that no money goes to, one a line, `#` for comments; read again when it changes |',
    ],
    read: ({ DENY_LIST_FILE }) => ({ file: DENY_LIST_FILE }),
  }),
};
