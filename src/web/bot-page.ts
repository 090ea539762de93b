import type { FastifyInstance } from 'fastify';
import { agentToken } from '../shopping/search/agent.ts';
import { codeBlock } from './code.ts';
import { contentPolicy } from './content-policy.ts';
import { html } from './html.ts';
import { layout, type PageContext } from './layout.ts';

/** For the owner of a shop who has found our name in a log: our User-Agent links here. */
export function addBotPage(app: FastifyInstance, context: () => PageContext): void {
  app.get('/bot', async (_request, reply) => {
    const page = layout(
      {
        title: agentToken,
        description: `What ${agentToken} does, and how to keep it away.`,
        name: 'preview',
        styles: ['preview.css'],
        body: html`
<main id="main">
<h1>${agentToken}</h1>
<p class="lead">Somebody has asked an AI agent for a product, the agent has named your shop, and we have searched it: once, for that
person, as the shop’s own search page would be used.</p>
<p>We read what your platform offers for this, a few product pages if it offers nothing else, and the photos that are shown with
them. We follow your <code>robots.txt</code> (RFC 9309), build no index and train no model. To keep us away, add:</p>
${codeBlock(
  'robots.txt',
  html`User-agent: ${agentToken}
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
