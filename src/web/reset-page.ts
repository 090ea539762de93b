import type { FastifyInstance } from 'fastify';
import { livePolicy } from './content-policy.ts';
import { type Html, html } from './html.ts';
import { layout, type PageContext } from './layout.ts';

/**
 * The page behind the link in a password reset mail. The token is in the fragment (#…), which browsers do not send; the script removes
 * it from the address and posts it with the new password.
 */
export function addResetPage(app: FastifyInstance, context: () => PageContext): void {
  app.get('/reset-password', async (_request, reply) =>
    reply
      .headers({
        'Content-Security-Policy': livePolicy,
        'Cache-Control': 'no-store',
        'X-Robots-Tag': 'noindex, nofollow',
      })
      .type('text/html; charset=utf-8')
      .send(resetPage(context()).toString()),
  );
}

function resetPage(context: PageContext): Html {
  return layout(
    {
      title: 'Set a new password',
      description: 'Set a new password for your account.',
      name: 'reset',
      styles: ['reset.css'],
      scripts: ['reset.js'],
      unlisted: true,
      plain: true,
      body: html`
<main id="main">
<noscript><h1>Set a new password</h1><p class="lead">This page needs JavaScript. Without it, send the token from the email to <code>POST /account/password/reset/confirm</code>.</p></noscript>
<section id="missing" hidden>
<h1>This link is incomplete</h1>
<p class="lead">Open it from the email again, or copy the whole link. A link works once and expires after 30 minutes.</p>
</section>
<form id="reset" data-to="${context.base}/api/account/password/reset/confirm" hidden>
<h1>Set a new password</h1>
<p class="lead">It replaces your old password immediately.</p>
<label for="password">New password</label>
<input id="password" type="password" autocomplete="new-password" minlength="8" maxlength="1024" required aria-describedby="rule wrong" autofocus>
<p class="rule" id="rule">At least 8 characters, and not a password known from data breaches. Several words in a row work best.</p>
<label class="choice"><input id="show" type="checkbox"> Show password</label>
<label class="choice"><input id="revoke" type="checkbox"> Revoke all API keys, if one may be in the wrong hands. Your agents will need new keys.</label>
<label class="choice"><input id="webhooks" type="checkbox"> Also remove the webhooks created with those keys, which report your payments to other servers.</label>
<p class="wrong" id="wrong" role="alert"></p>
<button class="button">Set password</button>
</form>
<section id="done" hidden tabindex="-1">
<h1>Your new password is set</h1>
<p class="lead" id="what"></p>
</section>
</main>`,
    },
    context,
  );
}
