import { z } from 'zod';
import { credentialType, instrumentType } from '../../../src/shopping/search/payment-handler.ts';
import { readAs } from '../ucp-versions.ts';
import { protocolError } from './refusal-reply.ts';

const text = z.string().max(200);
const id = z.string().min(1).max(100);
/** UCP fields that this shop ignores. They are declared so that agents which follow the tool schemas may send them. */
const ignored = z.unknown().optional();

const destination = z.object({
  id: id.optional(),
  type: ignored,
  first_name: text.optional(),
  last_name: text.optional(),
  street_address: text.optional(),
  extended_address: text.optional(),
  address_locality: text.optional(),
  address_region: text.optional(),
  postal_code: text.optional(),
  address_country: text.optional(),
  phone_number: text.optional(),
});

export type Destination = Omit<z.infer<typeof destination>, 'id' | 'type'> & { readonly id: string };

const method = z.object({
  id: ignored,
  line_item_ids: ignored,
  type: z.enum(['shipping', 'pickup']).optional(),
  destinations: z.array(destination).max(10).optional(),
  selected_destination_id: id.nullish(),
  groups: z
    .array(z.object({ id: ignored, selected_option_id: id.nullish() }))
    .max(1)
    .optional(),
});

/** The body of create and update. */
export const contents = z.object({
  line_items: z
    .array(z.object({ id: id.optional(), item: z.object({ id }), quantity: z.int().min(1).max(1_000) }))
    .min(1)
    .max(50)
    .refine(
      (lines) => new Set(lines.map((line, index) => line.id ?? index)).size === lines.length,
      'an id is used twice',
    ),
  buyer: z
    .object({
      first_name: text.optional(),
      last_name: text.optional(),
      email: text.optional(),
      phone_number: text.optional(),
    })
    .optional(),
  fulfillment: z.object({ methods: z.array(method).max(1).optional() }).optional(),
  context: ignored,
  signals: ignored,
  attribution: ignored,
});

export type Buyer = NonNullable<z.infer<typeof contents>['buyer']>;
export type Contents = ReturnType<typeof readContents>;

export function readContents(body: unknown) {
  const { line_items, buyer, fulfillment } = read(contents, body);
  const chosen = fulfillment?.methods?.[0];
  return {
    lines: line_items.map((line, index) => ({
      id: line.id ?? `li_${index + 1}`,
      itemId: line.item.id,
      quantity: line.quantity,
    })),
    buyer,
    pickup: chosen?.type === 'pickup',
    destinations: chosen?.destinations?.map(({ type: _, ...one }, index) => ({
      ...one,
      id: one.id ?? `dest_${index + 1}`,
    })),
    destinationId: chosen?.selected_destination_id ?? undefined,
    optionId: chosen?.groups?.[0]?.selected_option_id ?? undefined,
  };
}

/** The body of complete. */
export const payment = z.object({
  payment: z.object({
    instruments: z
      .array(
        z.object({
          id,
          handler_id: id,
          type: id,
          selected: z.boolean().optional(),
          credential: z
            .object({ type: id, token: z.string().min(1).max(1_000).optional(), expires_at: ignored })
            .optional(),
          display: ignored,
          billing_address: ignored,
        }),
      )
      .min(1)
      .max(10),
  }),
  signals: ignored,
  attribution: ignored,
});

/** The id of the shop's only payment handler. */
export const handlerId = 'paywright';

/** The credential to redeem; undefined for an unknown payment method. */
export function readToken(body: unknown): string | undefined {
  const { instruments } = read(payment, body).payment;
  const chosen = instruments.find(({ selected }) => selected === true) ?? instruments[0];
  if (chosen?.handler_id !== handlerId || chosen.type !== instrumentType) return undefined;
  return chosen.credential?.type === credentialType ? chosen.credential.token : undefined;
}

function read<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  return readAs(schema, body, (path, why) => protocolError('invalid_request', `$.${path} ${why}.`));
}
