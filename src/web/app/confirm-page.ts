import { type ProofParts, proveOwner } from '../../accounts/sessions/prove-owner.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { html } from '../html.ts';
import type { PageContext } from '../layout.ts';
import type { OwnerPage, Shell, Visit } from './shell.ts';
import { askedNext, whereTo } from './where-to.ts';

type ConfirmPageParts = ProofParts & { readonly context: () => PageContext };

/** Asks the owner for the password again, and leads back. Forms that need a fresh proof send the owner here (`shell.ts`). */
export function addConfirmPage(shell: Shell, parts: ConfirmPageParts): void {
  shell.page('/app/confirm', async (visit) => {
    const next = whereTo(askedNext(visit.request));
    return visit.session.isProved ? next : confirmPage(visit, { next, base: parts.context().base });
  });

  shell.form('/app/confirm', async (visit, fields) => {
    const { session, address: ip } = visit;
    const next = whereTo(fields['next']);
    const again = (wrong: string, status: number) =>
      confirmPage(visit, { next, base: parts.context().base, wrong, status });
    const password = fields['password'] ?? '';
    if (password === '' || password.length > 1024) return again('Enter your password.', 400);
    try {
      const isProved = await proveOwner(parts, { session, password, ip });
      return isProved ? next : '/sign-in';
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'wrong_password') throw error;
      return again('This is not the password of your account.', error.status);
    }
  });
}

interface ConfirmForm {
  readonly next: string;
  readonly base: string;
  readonly wrong?: string;
  readonly status?: number;
}

function confirmPage({ field }: Visit, { next, base, wrong = '', status = 200 }: ConfirmForm): OwnerPage {
  const body = html`<h1>Is it you?</h1>
<p class="lead">Enter your password again. For five minutes you can then change and approve what needs it.</p>
<form method="post" action="${base}/app/confirm">
${field}<input type="hidden" name="next" value="${next}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required autofocus${wrong !== '' && html` aria-invalid="true" aria-describedby="wrong"`}>
<p class="wrong" id="wrong" role="alert">${wrong}</p>
<button class="button">Continue</button>
</form>`;
  return { title: 'Is it you?', body, status };
}
