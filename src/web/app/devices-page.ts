import { recordAudit } from '../../accounts/audit/record.ts';
import {
  endSession,
  type ListedSession,
  listSessions,
  lockForSessions,
} from '../../accounts/sessions/owner-session.ts';
import type { Database } from '../../kernel/db/database.ts';
import { dateTimeText, timeOfDay } from '../format.ts';
import { type Html, html } from '../html.ts';
import type { PageContext } from '../layout.ts';
import type { Shell, Visit } from './shell.ts';

interface DevicesParts {
  readonly db: Database;
  readonly context: () => PageContext;
}

/** Far more than a person has signed in on. Beyond it there is still "everywhere". */
const mostShown = 50;

/** Where the owner is signed in. */
export function addDevicesPage(shell: Shell, { db, context }: DevicesParts): void {
  shell.page('/app/devices', async (visit) => {
    const sessions = await listSessions(db, { accountId: visit.session.accountId, limit: mostShown });
    const { base } = context();
    const body = html`<h1>Devices</h1>
<p class="lead">You are signed in on these browsers. A session ends after 30 minutes without use, and after 12 hours at the latest.</p>
<ul class="lines">${sessions.map((session) => device(session, visit, base))}</ul>
<form method="post" action="${base}/sign-out">${visit.field}<button class="button" name="from" value="everywhere">Sign out everywhere</button></form>`;
    return { title: 'Devices', place: '/app/devices', body };
  });

  shell.form('/app/devices/end', async ({ session: { accountId }, address }, { id = '' }) => {
    await db.transaction(async (tx) => {
      await lockForSessions(tx, accountId);
      if (!(await endSession(tx, { accountId, id }))) return;
      await recordAudit(tx, { accountId, action: 'session.ended', by: { address }, details: { sessions: 1 } });
    });
    return '/app/devices';
  });
}

function device(
  { id, browser, address, createdAt, endsAt }: ListedSession,
  { session, field }: Visit,
  base: string,
): Html {
  const isThis = id === session.id;
  const end = html`<form method="post" action="${base}/app/devices/end">${field}<button class="quiet" name="id" value="${id}" aria-label="Sign out ${nameOf(browser)} from ${address}">Sign out</button></form>`;
  return html`<li><span class="who">${nameOf(browser)}${isThis && html` <span class="tag">this one</span>`}</span>
${!isThis && end}
<span class="note">From ${address}, since ${dateTimeText(createdAt)}, until ${timeOfDay(endsAt)} if it is not used</span></li>`;
}

/** A short name for the usual browsers, by what they call themselves. */
function nameOf(browser: string | null): string {
  const text = browser ?? '';
  const product = [
    ['Edg/', 'Edge'],
    ['OPR/', 'Opera'],
    ['Firefox/', 'Firefox'],
    ['Chrome/', 'Chrome'],
    ['Safari/', 'Safari'],
  ].find(([mark = '']) => text.includes(mark))?.[1];
  const system = [
    ['iPhone', 'iPhone'],
    ['iPad', 'iPad'],
    ['Android', 'Android'],
    ['Windows', 'Windows'],
    ['Mac OS X', 'Mac'],
    ['Linux', 'Linux'],
  ].find(([mark = '']) => text.includes(mark))?.[1];
  if (product === undefined) return 'Another program';
  return system === undefined ? product : `${product} on ${system}`;
}
