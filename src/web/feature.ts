import type { FastifyInstance } from 'fastify';
import type { AccountChanges } from '../accounts/account-changes.ts';
import { keysEnded } from '../accounts/keys/on-keys-ended.ts';
import { createFailureRecorder } from '../accounts/passwords/require-password.ts';
import type { Feature } from '../kernel/feature.ts';
import type { GatherHook } from '../kernel/hook.ts';
import type { RateLimiter } from '../kernel/rate-limit/limiter.ts';
import { findPageView } from '../payments/invoices/invoice.ts';
import { agentToken } from '../shopping/search/agent.ts';
import { type AppPageParts, addAppPages } from './app/add-app-pages.ts';
import { addBuyPages, type BuyPageParts } from './buy/add-buy-pages.ts';
import { codeBlock } from './code.ts';
import { contentPolicy, livePolicy } from './content-policy.ts';
import { type Html, html } from './html.ts';
import { addInvoicePage } from './invoice-page.ts';
import { layout, type PageContext, sendPrivate } from './layout.ts';
import { addOnRampPage, type TestCardCompany } from './on-ramp-page.ts';
import { addPages, type PageParts } from './pages.ts';
import { addPreviewPage, type PreviewPageParts } from './preview-page.ts';

interface SandboxPages {
  /** The address at which a browser on this machine finds a page of the sandbox's shops; undefined for any other page. */
  readonly linkFor: (url: string) => string | undefined;
  readonly onRamp: TestCardCompany | undefined;
}

interface WebParts
  extends PageParts,
    Omit<BuyPageParts, 'context'>,
    Omit<AppPageParts, 'context' | 'noteFailure' | 'changes' | 'onKeysEnded'>,
    Pick<PreviewPageParts, 'shops'> {
  readonly limiter: RateLimiter;
  readonly accountChanges: AccountChanges;
  readonly gatherHook: GatherHook;
  /** Undefined in live mode. */
  readonly sandbox: SandboxPages | undefined;
}

export const web: Feature<{ pages: WebParts }> = {
  name: 'web',
  pages(app, parts) {
    const { db, publicUrl, sandbox } = parts;
    const context = addPages(app, parts);
    addInvoicePage(app, { context, publicUrl, find: (token) => findPageView(db, token) });
    addPreviewPage(app, { ...parts, context, linkFor: (url) => sandbox?.linkFor(url) ?? url });
    addBuyPages(app, { ...parts, context });
    if (sandbox?.onRamp !== undefined) addOnRampPage(app, context, sandbox.onRamp);
    addAppPages(app, {
      ...parts,
      context,
      noteFailure: createFailureRecorder(parts),
      changes: parts.accountChanges,
      onKeysEnded: parts.gatherHook(keysEnded),
    });
    addBotPage(app, context);
    addResetPage(app, context);
  },
};

/** For shop owners who find our User-Agent, which links here, in a log. */
function addBotPage(app: FastifyInstance, context: () => PageContext): void {
  app.get('/bot', async (_request, reply) => {
    const page = layout(
      {
        title: agentToken,
        description: `What ${agentToken} does, and how to exclude it.`,
        name: 'preview',
        styles: ['preview.css'],
        body: html`
<main id="main">
<h1>${agentToken}</h1>
<p class="lead">A person asked an AI agent for a product, and the agent searched your shop through us: once, for that person, as a visitor
would use your search page.</p>
<p>We use your platform’s search, or read a few product pages if there is none, and load the photos of the products that we show. We follow your
<code>robots.txt</code> (RFC 9309), build no index and train no model. To exclude us, add:</p>
${codeBlock(
  'robots.txt',
  `User-agent: ${agentToken}
Disallow: /`,
)}
</main>`,
      },
      context(),
    );
    return reply
      .headers({ 'Content-Security-Policy': contentPolicy, 'Cache-Control': 'no-cache' })
      .type('text/html; charset=utf-8')
      .send(page.toString());
  });
}

/**
 * The page behind the link in a password reset mail. The token is in the fragment (#…), which browsers do not send; the script removes
 * it from the address and posts it with the new password.
 */
function addResetPage(app: FastifyInstance, context: () => PageContext): void {
  app.get('/reset-password', async (_request, reply) => sendPrivate(reply, resetPage(context()), livePolicy));
}

function resetPage(context: PageContext): Html {
  return layout(
    {
      title: 'Set a new password',
      description: 'Set a new password for your account.',
      name: 'reset',
      styles: ['forms.css', 'reset.css'],
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
