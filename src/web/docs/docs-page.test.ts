import { describe, expect, it } from 'vitest';
import type { OpenApiDocument } from '../../kernel/http/openapi.ts';
import { docsPage } from './docs-page.ts';

const hostile = `<script>alert("x")</script><img src=x onerror='alert(1)'>`;

function problem(code: string, status: number, title: string, detail: string) {
  const value = { type: `https://pay.example/docs#error-${code}`, title, status, detail, code, requestId: 'req_1' };
  return { description: title, content: { 'application/problem+json': { examples: { [code]: { value } } } } };
}

const amount = { type: 'number', exclusiveMinimum: 0, description: 'Before the `fee`.' };

const document: OpenApiDocument = {
  openapi: '3.1.0',
  info: { title: 'Paywright', version: '3.0.0', description: 'Payments.' },
  servers: [{ url: 'https://pay.example/api' }],
  tags: [{ name: 'Transfers', description: 'Send money.' }],
  paths: {
    '/transfers': {
      post: {
        operationId: 'createTransfer',
        summary: 'Send money',
        tags: ['Transfers'],
        security: [{ apiKey: [] }],
        'x-scope': 'pay',
        parameters: [{ name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } }],
        requestBody: {
          content: {
            'application/json': {
              schema: { type: 'object', properties: { amount, to: { type: 'string' } }, required: ['amount'] },
              example: { amount: 12.5, to: "o'brien" },
            },
          },
        },
        responses: {
          201: {
            description: 'Sent',
            content: {
              'application/json': {
                schema: { type: 'object', properties: { transferId: { type: 'string' } }, required: ['transferId'] },
                example: { transferId: 'trf_1' },
              },
            },
          },
          400: problem('insufficient_balance', 400, 'Not enough money', 'Fund the account and try again.'),
        },
      },
    },
    '/transfers/{transferId}': {
      get: {
        operationId: 'getTransfer',
        summary: hostile,
        description: hostile,
        tags: [hostile],
        security: [],
        parameters: [
          { name: 'transferId', in: 'path', required: true, description: hostile, schema: { type: 'string' } },
        ],
        responses: {
          200: {
            description: hostile,
            content: {
              'text/event-stream': {
                schema: { type: 'object', properties: { [hostile]: { type: 'string', pattern: hostile } } },
                example: { [hostile]: hostile },
              },
            },
          },
          404: problem('transfer_not_found', 404, hostile, hostile),
        },
      },
    },
  },
};

const page = String(docsPage(document, { base: '/pay', mode: 'sandbox', assetUrl: (name) => `/pay/assets/1/${name}` }));

describe('the reference', () => {
  it('has every operation, and the navigation leads to it', () => {
    for (const id of ['createTransfer', 'getTransfer']) {
      expect(page).toContain(`<section class="operation" id="${id}">`);
      expect(page).toContain(`<a href="#${id}">`);
    }
  });

  it('says what an operation takes', () => {
    expect(page).toMatch(/<code class="name">amount<\/code>.*number.*more than 0.*required/);
    expect(page).toContain('Before the <code>fee</code>.');
    expect(page).toContain('Idempotency-Key');
    expect(page).toContain('Needs an API key</a> with the scope <code>pay</code>');
    expect(page).toContain('No API key needed');
  });

  it('says what it answers, with an example', () => {
    expect(page).toContain('<code class="name">transferId</code>');
    expect(page).toContain('201 Created');
    expect(page).toContain('&quot;trf_1&quot;');
  });

  it('has every error code exactly once, at the address that a problem names', () => {
    for (const code of ['insufficient_balance', 'transfer_not_found']) {
      expect(page.split(`id="error-${code}"`)).toHaveLength(2);
      expect(page).toContain(`href="#error-${code}"`);
    }
    expect(page).toContain('Fund the account and try again.');
    expect(page).toMatch(/Returned by <a href="#createTransfer">Send money<\/a>/);
  });

  it('explains the errors that the server answers at any address', () => {
    expect(page).toContain('id="error-not_found"');
    expect(page).toContain('id="error-method_not_allowed"');
  });

  it('keeps an operation whose chapter nobody described', () => {
    expect(page).toContain('id="chapter-script-alert-x-script-img-src-x-onerror-alert-1"');
  });

  it('lets no text of the document become markup', () => {
    expect(page).not.toContain('<script>');
    expect(page).not.toContain('<img src=x');
    expect(page).not.toMatch(/<[^>]*onerror='/);
    expect(page).toContain('&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;');
  });

  it('has no style and no script of its own', () => {
    expect(page).not.toMatch(/<style|\sstyle=|\son\w+="/);
    expect(page.match(/<script[^>]*>/g)).toEqual(['<script src="/pay/assets/1/page.js" type="module">']);
  });

  it('links within the path that the service is reached under', () => {
    expect(page).toContain('href="/pay/api/openapi.json"');
    expect(page).toContain('href="/pay/docs"');
  });

  it('uses no id twice', () => {
    const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map((match) => match[1]);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
