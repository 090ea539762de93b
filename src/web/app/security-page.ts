import type { z } from 'zod';
import { visibleText } from '../../accounts/fields.ts';
import {
  addPasskey,
  beginTotp,
  type ChangeParts,
  type ListedPasskey,
  listPasskeys,
  removePasskey,
  renamePasskey,
  renewRecoveryCodes,
  turnTotpOff,
  turnTotpOn,
} from '../../accounts/second-factor/change-second-factor.ts';
import { type Factors, hasSecondFactor, readFactors } from '../../accounts/second-factor/factors.ts';
import { creationOptions } from '../../accounts/second-factor/passkey.ts';
import { toBase32, totpUri } from '../../accounts/second-factor/totp.ts';
import { findOwner } from '../../accounts/sessions/sign-in-owner.ts';
import { dateTimeText } from '../format.ts';
import { type Html, html } from '../html.ts';
import { qrCode } from '../qr-code.ts';
import { siteOf } from './forms.ts';
import { passkeyForm, passkeyScript } from './passkey-form.ts';
import type { OwnerPage, Shell, ShellParts, Visit } from './shell.ts';

type SecurityPageParts = ShellParts & ChangeParts;

const home = '/app/security';
const proof = { proof: true } as const;
const issuer = 'Paywright';

/** The second factor: codes of an authenticator app, passkeys and recovery codes. All of it takes a fresh proof. */
export function addSecurityPage(shell: Shell, parts: SecurityPageParts): void {
  shell.page(home, (visit) => securityPage(parts, visit), proof);

  shell.form(
    `${home}/codes/set-up`,
    async (visit) => setUpPage(parts, visit, { secret: await beginTotp(parts, visit) }),
    proof,
  );

  shell.form(
    `${home}/codes/turn-on`,
    async (visit, { code = '' }) => {
      const done = await turnTotpOn(parts, visit, code);
      if ('again' in done) return setUpPage(parts, visit, { secret: done.again, wrong: wrongCode });
      return done.codes === undefined ? home : codesPage(parts, done.codes);
    },
    proof,
  );

  shell.form(
    `${home}/codes/turn-off`,
    async (visit) => {
      await turnTotpOff(parts, visit);
      return home;
    },
    proof,
  );

  shell.form(
    `${home}/recovery-codes`,
    async (visit) => codesPage(parts, await renewRecoveryCodes(parts, visit)),
    proof,
  );

  shell.form(
    `${home}/passkeys/add`,
    async (visit, { answer: text = '', name = '' }) => {
      const site = siteOf(parts, visit.request);
      const read = passkeyName.safeParse(name);
      if (!read.success || site === undefined) return securityPage(parts, visit, { wrong: wrongName });
      const answer = { text, site, holder: holderOf(visit) };
      const codes = await addPasskey(parts, visit, { name: read.data, answer });
      return codes === undefined ? home : codesPage(parts, codes);
    },
    proof,
  );

  shell.form(
    `${home}/passkeys/rename`,
    async (visit, { id = '', name = '' }) => {
      const read = passkeyName.safeParse(name);
      if (!read.success) return securityPage(parts, visit, { wrong: wrongName });
      await renamePasskey(parts, visit, { id, name: read.data });
      return home;
    },
    proof,
  );

  shell.form(
    `${home}/passkeys/remove`,
    async (visit, { id = '' }) => {
      await removePasskey(parts, visit, id);
      return home;
    },
    proof,
  );
}

const passkeyName: z.ZodType<string> = visibleText(50);
const wrongName = 'A passkey needs a name of at most 50 visible characters.';
const wrongCode = 'This code is wrong. Check the clock of your phone, and enter the code that the app shows now.';

function holderOf({ session }: Visit): string {
  return `new passkey ${session.id}`;
}

async function securityPage(
  parts: SecurityPageParts,
  visit: Visit,
  { wrong }: { readonly wrong?: string } = {},
): Promise<OwnerPage> {
  const { accountId } = visit.session;
  const [factors, passkeys] = await Promise.all([readFactors(parts.db, accountId), listPasskeys(parts.db, accountId)]);
  const post = poster(parts, visit);
  const body = html`<h1>Security</h1>
<p class="lead">${
    hasSecondFactor(factors)
      ? 'Signing in takes your password and a second factor. So do approving and creating keys that may withdraw.'
      : 'Your password alone signs in. A second factor keeps out those who know it.'
  }</p>
${wrong !== undefined && html`<p class="wrong" role="alert">${wrong}</p>`}
<h2>Passkeys</h2>
<p class="hint">The fingerprint, face or PIN of your device. A passkey signs in by itself, and no other site can ask for it.</p>
${passkeys.length > 0 && html`<ul class="lines">${passkeys.map((passkey) => passkeyLine(passkey, post))}</ul>`}
${await addPasskeyForm(parts, visit, passkeys)}
<h2>Authenticator app</h2>
<p class="hint">${factors.totp ? 'An app on your phone shows a new code every 30 seconds. It is on.' : 'An app on your phone shows a new code every 30 seconds. Agents can sign in with it as well.'}</p>
${factors.totp ? post('codes/turn-off', { button: 'Turn off' }) : post('codes/set-up', { button: 'Set up an app' })}
${hasSecondFactor(factors) && recoverySection(factors, post)}`;
  return { title: 'Security', place: home, body, scripts: [passkeyScript], status: wrong === undefined ? 200 : 400 };
}

interface Posted {
  readonly button: string;
  readonly label?: string;
  readonly fields?: Html;
}

type Post = (to: string, posted: Posted) => Html;

function poster(parts: SecurityPageParts, { field }: Visit): Post {
  const { base } = parts.context();
  return (to, { button, label, fields }) =>
    html`<form method="post" action="${base}${home}/${to}">${field}${fields}<button class="quiet"${label !== undefined && html` aria-label="${label}"`}>${button}</button></form>`;
}

function passkeyLine({ id, name, createdAt, lastUsedAt }: ListedPasskey, post: Post): Html {
  const hidden = html`<input type="hidden" name="id" value="${id}">`;
  const rename = html`${hidden}<input name="name" value="${name}" maxlength="50" required aria-label="New name of ${name}">`;
  return html`<li><span class="who">${name}</span>
${post('passkeys/remove', { button: 'Remove', label: `Remove ${name}`, fields: hidden })}
<span class="note">Added ${dateTimeText(createdAt)}${lastUsedAt !== null && html`, last used ${dateTimeText(lastUsedAt)}`}</span>
<details class="note"><summary>Rename</summary>${post('passkeys/rename', { button: 'Save', label: `Save the name of ${name}`, fields: rename })}</details></li>`;
}

async function addPasskeyForm(
  parts: SecurityPageParts,
  visit: Visit,
  known: readonly ListedPasskey[],
): Promise<Html | false> {
  const { session } = visit;
  const site = siteOf(parts, visit.request);
  const account = await findOwner(parts.db, 'id', session.accountId);
  if (site === undefined || account === undefined)
    return html`<p class="empty">Browsers know passkeys on pages with a host name only. Open this page as <code>localhost</code>.</p>`;
  return passkeyForm({
    action: `${parts.context().base}${home}/passkeys/add`,
    options: creationOptions(parts, { site, holder: holderOf(visit) }, { ...session, email: account.email }, known),
    what: 'create',
    fields: html`${visit.field}<label for="name">Name of the new passkey</label>
<input id="name" name="name" maxlength="50" value="${known.length === 0 ? 'My device' : `Passkey ${known.length + 1}`}" autocomplete="off" required>`,
    button: 'Add a passkey',
  });
}

function recoverySection({ recoveryCodes }: Factors, post: Post): Html {
  return html`<h2>Recovery codes</h2>
<p class="hint">Each replaces a lost phone or passkey once. You have ${recoveryCodes} left.</p>
${post('recovery-codes', { button: 'Make ten new codes' })}`;
}

interface SetUp {
  readonly secret: Buffer;
  readonly wrong?: string;
}

/** The secret is on this page alone, which answers a form: no link leads to it. */
async function setUpPage(parts: SecurityPageParts, visit: Visit, { secret, wrong = '' }: SetUp): Promise<OwnerPage> {
  const { base } = parts.context();
  const account = await findOwner(parts.db, 'id', visit.session.accountId);
  const uri = totpUri(secret, { issuer, email: account?.email ?? visit.session.handle });
  const spaced = toBase32(secret).replaceAll(/(.{4})(?=.)/g, '$1 ');
  const body = html`<h1>Set up an app</h1>
<p class="lead">Scan this with your authenticator app, or <a href="${uri}">open it on this device</a>.</p>
${qrCode(uri, 'QR code for an authenticator app')}
<p class="hint">Or type the key: <code class="secret">${spaced}</code></p>
<form method="post" action="${base}${home}/codes/turn-on">
${visit.field}
<label for="code">Code that the app shows</label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="10" required autofocus${wrong !== '' && html` aria-invalid="true" aria-describedby="wrong"`}>
<p class="wrong" id="wrong" role="alert">${wrong}</p>
<button class="button">Turn on</button>
</form>`;
  return { title: 'Set up an app', place: home, body, status: wrong === '' ? 200 : 400 };
}

function codesPage(parts: SecurityPageParts, codes: readonly string[]): OwnerPage {
  const body = html`<h1>Recovery codes</h1>
<p class="lead">Write them down or print them now: they are shown only once. Each signs in once, in place of your app or your passkey.</p>
<ul class="codes">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ul>
<p><a class="button" href="${parts.context().base}${home}">I have them</a></p>`;
  return { title: 'Recovery codes', place: home, body };
}
