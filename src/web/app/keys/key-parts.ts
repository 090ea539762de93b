import type { OwnerActor } from '../../../accounts/actor.ts';
import type { AccountParts } from '../../../accounts/parts.ts';
import { refuseUnstorableText } from '../../../kernel/http/parse-body.ts';
import type { PageContext } from '../../layout.ts';
import type { Visit } from '../shell.ts';

/** What the pages about keys need. */
export interface KeyPageParts
  extends Pick<
    AccountParts,
    'db' | 'secrets' | 'clock' | 'idleMs' | 'once' | 'changes' | 'sagas' | 'logger' | 'onKeysEnded'
  > {
  readonly context: () => PageContext;
}

export function ownerActor({ session: { accountId, id, tier }, address }: Visit): OwnerActor {
  return { accountId, tier, session: id, address };
}

/** The id in the path, as text that can be stored: PostgreSQL refuses some, such as NUL. */
export function idIn({ request }: Visit): string {
  const { id = '' } = request.params as { readonly id?: string };
  refuseUnstorableText(id);
  return id;
}
