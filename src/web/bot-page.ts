import type { FastifyInstance } from 'fastify';
import { agentToken } from '../shopping/search/agent.ts';
import { codeBlock } from './code.ts';
import { contentPolicy } from './content-policy.ts';
import { html } from './html.ts';
import { layout, type PageContext } from './layout.ts';

/** For shop owners who find our User-Agent, which links here, in a log. */
export function addBotPage(app: FastifyInstance, context: () => PageContext): void {
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
