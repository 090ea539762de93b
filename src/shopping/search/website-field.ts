import { z } from 'zod';
import { httpErrors } from '../../kernel/http/errors.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import { readWebsite, type Website } from './website.ts';

export const website = z.string().max(300, 'must be at most 300 characters').meta({
  description: 'The domain of a shop, in any common form: `shop.example`, `https://www.shop.example/mugs`.',
});

export function websiteOrRefuse(text: string, outgoing: Pick<Outgoing, 'explainRefusal'>): Website {
  const read = readWebsite(text, outgoing);
  if (read.refusal === undefined) return read;
  throw httpErrors.invalid_request(`website ${read.refusal}.`, {
    errors: [{ path: 'website', message: read.refusal }],
  });
}
