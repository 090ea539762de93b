import {
  handlerName,
  handlerSchemaPath,
  handlerSpecPath,
  handlerVersion,
  instrumentType,
} from '../../../src/shopping/search/payment-handler.ts';
import type { Desk } from './desk.ts';
import { handlerId } from './read-body.ts';

/** How the shop can be paid, as its profile and every checkout list it. */
export function paymentHandlers({ publicUrl, domain }: Pick<Desk, 'publicUrl' | 'domain'>): object {
  const url = publicUrl();
  // For a moment at the start nobody knows yet where the service will be.
  if (url === '') return {};
  return {
    [handlerName(url)]: [
      {
        id: handlerId,
        version: handlerVersion,
        spec: `${url}${handlerSpecPath}`,
        schema: `${url}${handlerSchemaPath}`,
        available_instruments: [{ type: instrumentType }],
        config: { environment: 'sandbox', business: domain },
      },
    ],
  };
}
