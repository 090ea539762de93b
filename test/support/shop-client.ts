import { randomUUID } from 'node:crypto';
import type { PayingService, UcpVersion } from './paying-service.ts';
import { complaintsAboutCheckout, complaintsAboutRequest } from './ucp-schemas.ts';

/** A checkout as far as tests look into it. */
export interface ShownCheckout {
  readonly id: string;
  readonly status: string;
  readonly currency: string;
  readonly totals: readonly { readonly type: string; readonly amount: number }[];
  readonly messages?: readonly { readonly code: string; readonly severity: string; readonly path?: string }[];
  readonly line_items: readonly { readonly id: string; readonly item: { readonly price: number } }[];
  readonly fulfillment: {
    readonly methods: readonly {
      readonly selected_destination_id: string | null;
      readonly groups: readonly { readonly id: string; readonly options: readonly { readonly id: string }[] }[];
    }[];
  };
  readonly continue_url?: string;
  readonly expires_at: string;
  readonly order?: { readonly id: string; readonly permalink_url: string };
  readonly ucp: { readonly version: string; readonly status: string; readonly payment_handlers: object };
}

export const address = {
  first_name: 'Ada',
  last_name: 'Lovelace',
  street_address: '1 Main St',
  address_locality: 'San Francisco',
  postal_code: '94105',
  address_country: 'US',
};

export const totalOf = ({ totals }: ShownCheckout) => totals.find(({ type }) => type === 'total')?.amount;
export const codesOf = ({ messages = [] }: ShownCheckout) => messages.map(({ code }) => code);

interface Call {
  readonly method?: string;
  readonly body?: object;
  readonly key?: string;
  readonly headers?: Record<string, string>;
}

/** Buys from the demo shop as an agent does. What is said and answered is held against UCP's schemas, where they are here. */
export function createShopClient({
  shopUrl,
  service,
  version,
}: {
  readonly shopUrl: () => string;
  readonly service: PayingService;
  readonly version: UcpVersion;
}) {
  async function send(path: string, { method = 'POST', body, key = randomUUID(), headers }: Call = {}) {
    const url = `${shopUrl()}/ucp/${version}/checkout-sessions${path}`;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const request = {
      method,
      url,
      headers: { 'Idempotency-Key': key, ...headers },
      ...(text !== undefined && { body: text }),
    };
    const reply = await fetch(url, { ...request, headers: { ...service.sign(request), 'Request-Id': randomUUID() } });
    return { status: reply.status, body: (await reply.json()) as ShownCheckout };
  }

  async function checked(operation: 'create' | 'update' | 'complete' | undefined, path: string, call: Call) {
    const wrong = operation === undefined ? [] : complaintsAboutRequest(version, operation, call.body);
    const answer = await send(path, call);
    if (answer.status < 300) wrong.push(...complaintsAboutCheckout(version, answer.body));
    if (wrong.length > 0) throw new Error(`${operation ?? 'show'} ${answer.status}: ${wrong.join('; ')}`);
    return answer;
  }

  const client = {
    /** Anything, without looking at it. */
    send,
    create: (itemId: string, { quantity = 1, key }: { quantity?: number; key?: string } = {}) =>
      checked('create', '', {
        body: {
          line_items: [{ item: { id: itemId }, quantity }],
          buyer: { first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.com' },
          fulfillment: { methods: [{ type: 'shipping', destinations: [address] }] },
        },
        ...(key !== undefined && { key }),
      }),
    show: (id: string) => checked(undefined, `/${id}`, { method: 'GET' }),
    update: (
      id: string,
      itemId: string,
      { to = address, option = 'standard', quantity = 1, key = randomUUID() } = {},
    ) =>
      checked('update', `/${id}`, {
        method: 'PUT',
        key,
        body: {
          line_items: [{ id: 'li_1', item: { id: itemId }, quantity }],
          fulfillment: {
            methods: [
              {
                id: 'shipping',
                type: 'shipping',
                line_item_ids: ['li_1'],
                destinations: [{ id: 'dest_1', ...(version === '2026-08-25' && { type: 'shipping_address' }), ...to }],
                selected_destination_id: 'dest_1',
                groups: [{ id: 'parcel', selected_option_id: option }],
              },
            ],
          },
        },
      }),
    complete: (id: string, { token = `tok_${randomUUID()}`, key = randomUUID() } = {}) =>
      checked('complete', `/${id}/complete`, { key, body: paymentWith(token) }),
    cancel: (id: string) => checked(undefined, `/${id}/cancel`, {}),
    /** A checkout that lacks nothing but the money. */
    async ready(itemId: string): Promise<string> {
      const { body } = await client.create(itemId);
      await client.update(body.id, itemId);
      return body.id;
    },
  };
  return client;
}

export function paymentWith(token: string) {
  return {
    payment: {
      instruments: [
        {
          id: 'balance',
          handler_id: 'paywright',
          type: 'paywright_balance',
          selected: true,
          credential: { type: 'paywright_token', token, expires_at: '2099-01-01T00:00:00Z' },
        },
      ],
    },
  };
}
