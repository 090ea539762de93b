import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import * as field from '../../accounts/fields.ts';
import { listPasskeys } from '../../accounts/second-factor/change-second-factor.ts';
import { requestOptions } from '../../accounts/second-factor/passkey.ts';
import { findSession } from '../../accounts/sessions/owner-session.ts';
import {
  finishSignIn,
  type OwnerSignInParts,
  openPending,
  signInOwner,
  signInWithPasskey,
} from '../../accounts/sessions/sign-in-owner.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { addressOf } from '../../kernel/http/request-guards.ts';
import { type Html, html } from '../html.ts';
import { layout, type PageContext } from '../layout.ts';
import { codeField } from './confirm-page.ts';
import { formField, readCookie, requireVisitorForm, setCookie, siteOf, visitorOf } from './forms.ts';
import { passkeyForm, passkeyScript } from './passkey-form.ts';
import { type ShellParts, sendOwn, sessionCookie } from './shell.ts';
import { askedNext, whereTo } from './where-to.ts';

export type SignInPageParts = ShellParts & OwnerSignInParts;

const credentials = z.object({ email: field.email, password: z.string().min(1).max(1024) });

const steps = { password: '/sign-in', second: '/sign-in/second-step', passkey: '/sign-in/passkey' } as const;

/** Signing in with a password and, where there is one, a second factor; or with a passkey alone. */
export function addSignInPage(app: FastifyInstance, parts: SignInPageParts): void {
  const { db, secrets, context } = parts;

  app.get(steps.password, async (request, reply) => {
    const next = whereTo(askedNext(request));
    const token = readCookie(parts, request, sessionCookie);
    if (token !== undefined && (await findSession(db, secrets, token)) !== undefined) {
      return reply.redirect(`${context().base}${next}`, 303);
    }
    return sendFirst(parts, request, reply, { next });
  });

  app.post(steps.password, async (request, reply) => {
    const fields = requireVisitorForm(parts, request);
    const next = whereTo(fields['next']);
    const { email } = fields;
    const given = credentials.safeParse(fields);
    if (!given.success)
      return sendFirst(parts, request, reply.code(400), { next, email, wrong: 'Enter your email and your password.' });
    return orAgain(
      reply,
      (wrong) => sendFirst(parts, request, reply, { next, email, wrong }),
      async () => {
        const signedIn = await signInOwner(parts, { ...given.data, ...readVisitor(request, reply) });
        if ('token' in signedIn) return welcome(reply, signedIn.token, next);
        return sendSecond(parts, request, reply, { next, pending: signedIn.pending });
      },
    );
  });

  app.post(steps.second, async (request, reply) => {
    const { answer = '', otp = '', pending = '', ...fields } = requireVisitorForm(parts, request);
    const next = whereTo(fields['next']);
    const visitor = readVisitor(request, reply);
    const site = siteOf(parts, request);
    return orAgain(
      reply,
      (wrong) => sendSecond(parts, request, reply, { next, pending, wrong }),
      async () => {
        const passkey = answer !== '' && site !== undefined;
        const holder = holderOf(visitor.cookie);
        const given = passkey ? { passkey: { text: answer, site, holder } } : { otp: otp.slice(0, 40) };
        return welcome(reply, await finishSignIn(parts, { ...visitor, pending, given }), next);
      },
    );
  });

  app.post(steps.passkey, async (request, reply) => {
    const { answer: text = '', ...fields } = requireVisitorForm(parts, request);
    const next = whereTo(fields['next']);
    const visitor = readVisitor(request, reply);
    const site = siteOf(parts, request);
    return orAgain(
      reply,
      (wrong) => sendFirst(parts, request, reply, { next, wrong }),
      async () => {
        const passkey = { text, site: site ?? { origin: '', host: '' }, holder: holderOf(visitor.cookie) };
        return welcome(reply, await signInWithPasskey(parts, { ...visitor, passkey }), next);
      },
    );
  });

  // A browser that comes back to the second step begins anew.
  for (const path of [steps.second, steps.passkey])
    app.get(path, async (_request, reply) => reply.redirect(`${context().base}${steps.password}`, 303));

  function readVisitor(request: FastifyRequest, reply: FastifyReply) {
    return {
      ip: addressOf(request),
      browser: request.headers['user-agent'],
      formerToken: readCookie(parts, request, sessionCookie),
      cookie: visitorOf(parts, request, reply),
    };
  }

  function welcome(reply: FastifyReply, token: string, next: string): FastifyReply {
    setCookie(parts, reply, sessionCookie, token);
    return reply.redirect(`${context().base}${next}`, 303);
  }
}

/** A refusal shows the form again. */
async function orAgain(
  reply: FastifyReply,
  again: (wrong: string) => Promise<FastifyReply>,
  work: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) throw error;
    reply.code(error.status).headers(error.extras.headers ?? {});
    return again(said[error.code] ?? error.message);
  }
}

const said: Readonly<Record<string, string>> = {
  wrong_password: 'There is no account with this email and password.',
  second_factor_required: 'Enter the code.',
  wrong_second_factor: 'This code is wrong, or was used before. Each code works once.',
  passkey_refused: 'The passkey was not accepted. Try again, or sign in with your password.',
};

/** Challenges belong to this browser. */
function holderOf(visitor: string): string {
  return `sign-in ${visitor}`;
}

interface FirstStep {
  readonly next: string;
  readonly email?: string | undefined;
  readonly wrong?: string;
}

async function sendFirst(
  parts: SignInPageParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { next, email = '', wrong = '' }: FirstStep,
): Promise<FastifyReply> {
  const { base } = parts.context();
  const cookie = visitorOf(parts, request, reply);
  const hidden = html`${formField(parts, cookie)}<input type="hidden" name="next" value="${next}">`;
  const site = siteOf(parts, request);
  const passkey =
    site !== undefined &&
    passkeyForm({
      action: `${base}${steps.passkey}`,
      options: requestOptions(parts, { site, holder: holderOf(cookie) }),
      what: 'get',
      fields: hidden,
      button: 'Sign in with a passkey',
    });
  return sendOwn(
    reply,
    signInLayout(
      html`<h1>Sign in</h1>
<p class="lead">With the email and the password of your account.</p>
<form method="post" action="${base}${steps.password}">
${hidden}
<label for="email">Email</label>
<input id="email" name="email" type="email" autocomplete="username" value="${email}" maxlength="254" required${email === '' && html` autofocus`}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required${wrong !== '' && html` aria-invalid="true" aria-describedby="wrong"`}${email !== '' && html` autofocus`}>
<p class="wrong" id="wrong" role="alert">${wrong}</p>
<button class="button">Sign in</button>
</form>
${passkey}
<p class="hint">Forgot the password? Your agent or you can have a link mailed with <code>POST /account/password/reset</code>.</p>`,
      parts.context(),
    ),
  );
}

interface SecondStep {
  readonly next: string;
  readonly pending: string;
  readonly wrong?: string;
}

async function sendSecond(
  parts: SignInPageParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { next, pending, wrong = '' }: SecondStep,
): Promise<FastifyReply> {
  const { base } = parts.context();
  const cookie = visitorOf(parts, request, reply);
  const account = await openPending(parts, { pending, cookie });
  if (account === undefined) return sendFirst(parts, request, reply, { next, wrong });
  const hidden = html`${formField(parts, cookie)}<input type="hidden" name="next" value="${next}">
<input type="hidden" name="pending" value="${pending}">`;
  const site = siteOf(parts, request);
  const known = await listPasskeys(parts.db, account.id);
  const passkey =
    site !== undefined &&
    known.length > 0 &&
    passkeyForm({
      action: `${base}${steps.second}`,
      options: requestOptions(parts, { site, holder: holderOf(cookie) }, known),
      what: 'get',
      fields: hidden,
      button: 'Use a passkey instead',
    });
  return sendOwn(
    reply,
    signInLayout(
      html`<h1>One more step</h1>
<p class="lead">Your account has a second factor.</p>
<form method="post" action="${base}${steps.second}">
${hidden}
${codeField('focused')}
<p class="wrong" id="wrong" role="alert">${wrong}</p>
<button class="button">Sign in</button>
</form>
${passkey}
<p class="hint"><a href="${base}${steps.password}">Begin anew</a></p>`,
      parts.context(),
    ),
  );
}

function signInLayout(content: Html, context: PageContext): Html {
  return layout(
    {
      title: 'Sign in',
      description: 'Sign in to your account.',
      name: 'app',
      styles: ['forms.css', 'app.css'],
      scripts: [passkeyScript],
      unlisted: true,
      plain: true,
      body: html`
<main id="main" class="narrow">
${content}
</main>`,
    },
    context,
  );
}
