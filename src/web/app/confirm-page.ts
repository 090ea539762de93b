import { listPasskeys } from '../../accounts/second-factor/change-second-factor.ts';
import { hasSecondFactor, readFactors } from '../../accounts/second-factor/factors.ts';
import { requestOptions } from '../../accounts/second-factor/passkey.ts';
import { type GivenProof, type ProofParts, proveOwner } from '../../accounts/sessions/prove-owner.ts';
import type { Fields } from '../../kernel/http/parse-form.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { type Html, html } from '../html.ts';
import { siteOf } from './forms.ts';
import { passkeyForm, passkeyScript } from './passkey-form.ts';
import type { OwnerPage, Shell, ShellParts, Visit } from './shell.ts';
import { askedNext, whereTo } from './where-to.ts';

type ConfirmPageParts = ProofParts & ShellParts;

/**
 * Asks the owner for the password again, and for a code where there is a second factor, or for a passkey; and leads back. Forms that need a
 * fresh proof send the owner here (`shell.ts`).
 */
export function addConfirmPage(shell: Shell, parts: ConfirmPageParts): void {
  shell.page('/app/confirm', async (visit) => {
    const next = whereTo(askedNext(visit.request));
    return visit.session.isProved ? next : confirmPage(parts, visit, { next });
  });

  shell.form('/app/confirm', async (visit, fields) => {
    const next = whereTo(fields['next']);
    const given = readProof(parts, visit, fields);
    if (given === undefined) return confirmPage(parts, visit, { next, wrong: 'Enter your password.', status: 400 });
    try {
      const isProved = await proveOwner(parts, { session: visit.session, given, ip: visit.address });
      return isProved ? next : '/sign-in';
    } catch (error) {
      const wrong = error instanceof Problem ? said[error.code] : undefined;
      if (!(error instanceof Problem) || wrong === undefined) throw error;
      return confirmPage(parts, visit, { next, wrong, status: error.status });
    }
  });
}

const said: Readonly<Record<string, string>> = {
  wrong_password: 'This is not the password of your account.',
  second_factor_required: 'Enter a code as well.',
  wrong_second_factor: 'This code is wrong, or was used before. Each code works once.',
  passkey_refused: 'The passkey was not accepted. Try again.',
};

function readProof(parts: ConfirmPageParts, visit: Visit, fields: Fields): GivenProof | undefined {
  const { password = '', answer = '', otp = '' } = fields;
  const site = siteOf(parts, visit.request);
  if (answer !== '' && site !== undefined) return { passkey: { text: answer, site, holder: holderOf(visit) } };
  if (password === '' || password.length > 1024) return undefined;
  return { password, ...(otp.trim() !== '' && { otp }) };
}

function holderOf({ session }: Visit): string {
  return `proof ${session.id}`;
}

interface ConfirmForm {
  readonly next: string;
  readonly wrong?: string;
  readonly status?: number;
}

async function confirmPage(
  parts: ConfirmPageParts,
  visit: Visit,
  { next, wrong = '', status = 200 }: ConfirmForm,
): Promise<OwnerPage> {
  const { base } = parts.context();
  const { accountId } = visit.session;
  const factors = await readFactors(parts.db, accountId);
  const hidden = html`${visit.field}<input type="hidden" name="next" value="${next}">`;
  const body = html`<h1>Is it you?</h1>
<p class="lead">Enter your password again. For five minutes you can then change and approve what needs it.</p>
<form method="post" action="${base}/app/confirm">
${hidden}
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required autofocus${wrong !== '' && html` aria-invalid="true" aria-describedby="wrong"`}>
${hasSecondFactor(factors) && codeField()}
<p class="wrong" id="wrong" role="alert">${wrong}</p>
<button class="button">Continue</button>
</form>
${factors.passkeys > 0 && (await askForPasskey(parts, visit, hidden))}`;
  return { title: 'Is it you?', body, status, scripts: [passkeyScript] };
}

/** Of an authenticator app, or a recovery code, which has letters. */
export function codeField(focus?: 'focused'): Html {
  return html`<label for="otp">Code</label>
<input id="otp" name="otp" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" maxlength="40" required${focus !== undefined && html` autofocus`} aria-describedby="otp-hint">
<p class="hint" id="otp-hint">Of your authenticator app, or a recovery code.</p>`;
}

async function askForPasskey(parts: ConfirmPageParts, visit: Visit, fields: Html): Promise<Html | false> {
  const site = siteOf(parts, visit.request);
  if (site === undefined) return false;
  const known = await listPasskeys(parts.db, visit.session.accountId);
  return passkeyForm({
    action: `${parts.context().base}/app/confirm`,
    options: requestOptions(parts, { site, holder: holderOf(visit) }, known),
    what: 'get',
    fields,
    button: 'Use a passkey instead',
  });
}
