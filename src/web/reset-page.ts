import type { FastifyInstance } from 'fastify';
import { livePolicy } from './content-policy.ts';
import { type Html, html } from './html.ts';
import { layout, type PageContext } from './layout.ts';

/**
 * Where the link in a mail about a forgotten password leads. The token stands behind the #, which a browser sends to nobody; the
 * script takes it out of the address and sends it with the new password.
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
      title: 'A new password',
      description: 'Set a new password for your account.',
      name: 'reset',
      styles: ['reset.css'],
      scripts: ['reset.js'],
      unlisted: true,
      plain: true,
      body: html`
<main id="main">
<noscript><h1>A new password</h1><p class="lead">This page needs JavaScript. Without it, send the token from the mail to <code>POST /account/password/reset/confirm</code>.</p></noscript>
<section id="missing" hidden>
<h1>This link is not complete</h1>
<p class="lead">Open it from the mail once more, or copy all of it. Links are good for 30 minutes, and once.</p>
</section>
<form id="reset" data-to="${context.base}/api/account/password/reset/confirm" hidden>
<h1>A new password</h1>
<p class="lead">With it you sign in from now on. The old one is worth nothing any more.</p>
<label for="password">New password</label>
<input id="password" type="password" autocomplete="new-password" minlength="8" maxlength="1024" required aria-describedby="rule wrong" autofocus>
<p class="rule" id="rule">At least 8 characters, and none that are known from breaches. A few words in a row are best.</p>
<label class="choice"><input id="show" type="checkbox"> Show it</label>
<label class="choice"><input id="revoke" type="checkbox"> End all API keys, in case somebody has one who should not. Your agents need new ones then.</label>
<label class="choice"><input id="webhooks" type="checkbox"> End all webhooks with them, which tell somebody of your payments.</label>
<p class="wrong" id="wrong" role="alert"></p>
<button class="button">Set the password</button>
</form>
<section id="done" hidden tabindex="-1">
<h1>The new password holds</h1>
<p class="lead" id="what"></p>
</section>
</main>`,
    },
    context,
  );
}
