import {
  handlerName,
  handlerSchemaPath,
  handlerSpecPath,
  handlerVersion,
  instrumentType,
} from '../../../src/shopping/search/payment-handler.ts';
import type { Desk } from './desk.ts';
import { handlerId } from './read-body.ts';

/** The payment handlers, as listed in the profile and in every checkout. */
export function paymentHandlers({ publicUrl, domain }: Pick<Desk, 'publicUrl' | 'domain'>): object {
  const url = publicUrl();
  // At start the service's URL is not known yet.
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
