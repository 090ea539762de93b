import { z } from 'zod';
import { visibleLines } from '../../accounts/fields.ts';
import { untrusted } from '../../kernel/http/untrusted.ts';

const line = visibleLines(200);

/** All parts are optional here, because the address reader reports everything that is missing at once. */
export const addressParts = z
  .strictObject({
    name: line.optional(),
    street: line.optional(),
    extra: line.optional(),
    postalCode: line.optional(),
    city: line.optional(),
    region: line.optional(),
    country: line.optional().meta({ description: 'A country code such as US, or the country’s name.' }),
    phone: line.optional(),
  })
  .meta({
    description: 'Street, postal code, city and country are required. Without a name, the account name is used.',
  });

export const addressRecord = z.object({
  name: untrusted,
  street: untrusted,
  extra: untrusted.optional(),
  postalCode: untrusted.optional(),
  city: untrusted,
  region: untrusted.optional(),
  country: z.string(),
  phone: untrusted.optional(),
});
