import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { amountOf } from '../money/amount.ts';
import type { InvoicePageView } from '../payments/invoices/invoice.ts';
import { addInvoicePage } from './invoice-page.ts';

const token = '4fKq0ZtR7nXv2bLmW9cYsD1e';
const pending: InvoicePageView = {
  id: 'inv_01kp3v2m8rfk2s6y0e6v9q4w1x',
  status: 'pending',
  fromHandle: 'PA-7K2M9QXA',
  fromName: 'Ada',
  amount: amountOf('USDC', 1_234_567_500_000n),
  description: 'Two hours',
  dueAt: new Date('2027-02-01T09:05:00Z'),
  overdue: false,
  createdAt: new Date('2026-12-31T23:59:59Z'),
  paidAt: null,
  cancelledAt: null,
};

function open(change: Partial<InvoicePageView>, path = `/invoice/${token}`) {
  const app = Fastify();
  addInvoicePage(app, {
    context: () => ({ base: '/base', mode: 'live', assetUrl: (name) => `/base/assets/x/${name}` }),
    publicUrl: () => 'https://pay.example/base',
    find: async (asked) => (asked === token ? { ...pending, ...change } : undefined),
  });
  return app.inject(path);
}

describe('the page of an invoice', () => {
  it('says what is asked by whom, and how to pay', async () => {
    const { statusCode, body } = await open({});
    expect(statusCode).toBe(200);
    for (const part of [
      '<title>1,234,567.50 USDC for Ada</title>',
      '<bdi>Ada</bdi> asks for',
      'Two hours',
      'PA-7K2M9QXA',
      'Waiting for payment',
      '1 February 2027, 09:05 UTC',
      '31 December 2026, 23:59 UTC',
      'POST https://pay.example/base/api/invoices/inv_01kp3v2m8rfk2s6y0e6v9q4w1x/pay',
      '<svg class="qr"',
    ]) {
      expect(body).toContain(part);
    }
  });

  it('is kept by nobody, listed nowhere, and loads from its own origin alone', async () => {
    for (const reply of [await open({}), await open({}, '/invoice/other')]) {
      expect(reply.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(reply.headers['cache-control']).toBe('no-store');
      expect(reply.headers['x-robots-tag']).toBe('noindex, nofollow');
      expect(reply.body).toContain('<meta name="robots" content="noindex, nofollow">');
      expect(reply.headers['content-security-policy']).toContain("default-src 'none'");
      expect(reply.headers['content-security-policy']).not.toContain('unsafe');
      expect(reply.body).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
      expect(reply.body).not.toMatch(/ style=| on\w+="/);
    }
  });

  it.each([
    [{ overdue: true }, 'Overdue', true],
    [{ status: 'paid', paidAt: new Date('2027-01-02T03:04:00Z') }, '2 January 2027, 03:04 UTC', false],
    [{ status: 'cancelled', cancelledAt: new Date('2027-01-02T03:04:00Z') }, 'It can no longer be paid', false],
    [{ amount: amountOf('EURC', 1n) }, '0.000001', true],
    [{ amount: amountOf('EURC', 100_000_000n) }, '100.00 <span', true],
  ] as const)('tells its state and amount as they are (%#)', async (change, words, payable) => {
    const { body } = await open(change);
    expect(body).toContain(words);
    expect(body.includes('curl')).toBe(payable);
  });

  it('shows no due date where there is none', async () => {
    expect((await open({ dueAt: null })).body).not.toContain('<dt>Due</dt>');
  });

  it('runs nothing that a name or a description holds', async () => {
    const hostile = `"><script>alert(1)</script><img src=x onerror='alert(2)'>`;
    const { body } = await open({ fromName: hostile, description: hostile });
    expect(body).not.toContain('<script>alert');
    expect(body).not.toContain('<img src=x');
    expect(body).toContain('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;');
  });

  it('of another address is not found, and repeats nothing of it', async () => {
    const { statusCode, body } = await open({}, '/invoice/%3Cscript%3E');
    expect(statusCode).toBe(404);
    expect(body).toContain('Invoice not found');
    expect(body).not.toMatch(/<script>|%3C|Ada|PA-/);
  });
});
