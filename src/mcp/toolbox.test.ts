import { expect, test } from 'vitest';
import { declaredRoutes } from '../../test/support/all-routes.ts';
import { scopes } from '../kernel/http/define-route.ts';
import { buildOpenApi } from '../kernel/http/openapi.ts';
import { createToolbox } from './toolbox.ts';

const routes = declaredRoutes()
  .filter(({ spec }) => spec.tool !== undefined)
  .map((route) => ({ ...route, spec: { ...route.spec, errors: [] } }));
const tools = createToolbox(buildOpenApi(routes, 'https://pay.example.com', []), new AbortController().signal).list(
  scopes,
);

test('the list of all tools is short enough to be in every prompt', () => {
  expect(JSON.stringify(tools).length).toBeLessThanOrEqual(24 * 1024);
});

/** Of a tool that only reads, the protocol gives the other two no meaning. */
const looks = { readOnlyHint: true };
const pays = { readOnlyHint: false, destructiveHint: true, idempotentHint: true };
const creates = { readOnlyHint: false, destructiveHint: false, idempotentHint: false };
const here = { openWorldHint: false };
const outside = { openWorldHint: true };

test('every tool says truly what it does', () => {
  expect(Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]))).toEqual({
    get_account: { ...looks, ...here },
    get_balance: { ...looks, ...here },
    find_recipient: { ...looks, ...here },
    quote_fee: { ...looks, ...here },
    send_money: { ...pays, ...here },
    create_invoice: { ...creates, ...here },
    pay_invoice: { ...pays, ...here },
    list_invoices: { ...looks, ...here },
    add_money: { ...creates, ...here },
    withdraw: { ...pays, ...here },
    bridge: { ...pays, ...here },
    swap_quote: { ...looks, ...here },
    swap: { ...pays, ...here },
    search_products: { ...looks, ...outside },
    buy_product: { ...pays, ...outside },
    // The guard lets a call pass once the seller has answered the same one, because calling again is usual (decision 0068).
    pay_url: { ...pays, idempotentHint: false, ...outside },
    get_operation: { ...looks, ...here },
    list_history: { ...looks, ...here },
    check_budget: { ...looks, ...here },
    wait_for: { ...looks, ...here },
  });
});
