import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import * as field from '../../accounts/fields.ts';
import { findSession } from '../../accounts/sessions/owner-session.ts';
import { type OwnerSignInParts, signInOwner } from '../../accounts/sessions/sign-in-owner.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { addressOf } from '../../kernel/http/request-guards.ts';
import { type Html, html } from '../html.ts';
import { layout, type PageContext } from '../layout.ts';
import { readCookie, requireVisitorForm, setCookie, visitorField } from './forms.ts';
import { type ShellParts, sendOwn, sessionCookie } from './shell.ts';
import { askedNext, whereTo } from './where-to.ts';

export type SignInPageParts = ShellParts & OwnerSignInParts;

const credentials = z.object({ email: field.email, password: z.string().min(1).max(1024) });

export function addSignInPage(app: FastifyInstance, parts: SignInPageParts): void {
  const { db, secrets, context } = parts;

  app.get('/sign-in', async (request, reply) => {
    const next = whereTo(askedNext(request));
    const token = readCookie(parts, request, sessionCookie);
    if (token !== undefined && (await findSession(db, secrets, token)) !== undefined) {
      return reply.redirect(`${context().base}${next}`, 303);
    }
    return sendOwn(reply, signInPage({ hidden: visitorField(parts, request, reply), next }, context()));
  });

  app.post('/sign-in', async (request, reply) => {
    const fields = requireVisitorForm(parts, request);
    const next = whereTo(fields['next']);
    const given = credentials.safeParse(fields);
    const again = (wrong: string, status: number) => {
      const hidden = visitorField(parts, request, reply);
      return sendOwn(reply.code(status), signInPage({ hidden, next, email: fields['email'], wrong }, context()));
    };
    if (!given.success) return again('Enter your email and your password.', 400);
    try {
      const token = await signInOwner(parts, {
        ...given.data,
        ip: addressOf(request),
        browser: request.headers['user-agent'],
        formerToken: readCookie(parts, request, sessionCookie),
      });
      setCookie(parts, reply, sessionCookie, token);
      return reply.redirect(`${context().base}${next}`, 303);
    } catch (error) {
      if (!(error instanceof Problem) || error.status >= 500) throw error;
      reply.headers(error.extras.headers ?? {});
      const isWrong = error.code === 'wrong_password';
      return again(isWrong ? 'There is no account with this email and password.' : error.message, error.status);
    }
  });
}

interface SignInForm {
  readonly hidden: Html;
  readonly next: string;
  readonly email?: string | undefined;
  readonly wrong?: string;
}

function signInPage({ hidden, next, email = '', wrong = '' }: SignInForm, context: PageContext): Html {
  const { base } = context;
  return layout(
    {
      title: 'Sign in',
      description: 'Sign in to your account.',
      name: 'app',
      styles: ['forms.css', 'app.css'],
      unlisted: true,
      plain: true,
      body: html`
<main id="main" class="narrow">
<h1>Sign in</h1>
<p class="lead">With the email and the password of your account.</p>
<form method="post" action="${base}/sign-in">
${hidden}<input type="hidden" name="next" value="${next}">
<label for="email">Email</label>
<input id="email" name="email" type="email" autocomplete="username" value="${email}" maxlength="254" required${email === '' && html` autofocus`}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required${wrong !== '' && html` aria-invalid="true" aria-describedby="wrong"`}${email !== '' && html` autofocus`}>
<p class="wrong" id="wrong" role="alert">${wrong}</p>
<button class="button">Sign in</button>
</form>
<p class="hint">Forgot the password? Your agent or you can have a link mailed with <code>POST /account/password/reset</code>.</p>
</main>`,
    },
    context,
  );
}
