import type { FastifyInstance } from 'fastify';
import {
  credentialType,
  handlerName,
  handlerSchemaPath,
  handlerSpecPath,
  handlerVersion,
  instrumentType,
} from '../search/payment-handler.ts';

/** The payment handler's specification and schema, for shops that want to accept it. */
export function addHandlerPages(app: FastifyInstance, publicUrl: () => string): void {
  app.get(handlerSpecPath, async (_request, reply) =>
    reply
      .header('Cache-Control', 'public, max-age=3600')
      .type('text/markdown; charset=utf-8')
      .send(handlerSpec(publicUrl())),
  );
  app.get(handlerSchemaPath, async (_request, reply) =>
    reply
      .header('Cache-Control', 'public, max-age=3600')
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(handlerSchema(publicUrl()))),
  );
}

function handlerSchema(publicUrl: string) {
  const text = { type: 'string', minLength: 1 };
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `${publicUrl}${handlerSchemaPath}`,
    name: handlerName(publicUrl),
    title: 'Payment from a Paywright balance',
    version: handlerVersion,
    $defs: {
      business_config: {
        type: 'object',
        required: ['business'],
        properties: {
          environment: { enum: ['sandbox', 'production'] },
          business: { ...text, description: 'The domain of the shop, as buyers know it.' },
        },
      },
      platform_config: { type: 'object' },
      instrument: {
        type: 'object',
        required: ['id', 'handler_id', 'type', 'credential'],
        properties: {
          id: text,
          handler_id: { ...text, description: 'The id of the entry in the shop’s own profile.' },
          type: { const: instrumentType },
          selected: { const: true },
          credential: { $ref: '#/$defs/credential' },
        },
      },
      credential: {
        type: 'object',
        required: ['type', 'token', 'expires_at'],
        properties: {
          type: { const: credentialType },
          token: { ...text, description: 'Good once, for one checkout of one shop, for one amount.' },
          expires_at: { type: 'string', format: 'date-time' },
        },
      },
    },
  };
}

function handlerSpec(publicUrl: string): string {
  const name = handlerName(publicUrl);
  return `# Payment from a Paywright balance

Handler \`${name}\`, version ${handlerVersion}. Schema: ${publicUrl}${handlerSchemaPath}

Buyers and their agents pay in USDC or EURC from a balance that this service keeps. USDC pays totals in USD, EURC totals in EUR.

## Taking it

1. List a checkout (\`dev.ucp.shopping.checkout\`, REST, 2026-08-25 or 2026-04-08) and this handler in \`/.well-known/ucp\` of your domain:

       "payment_handlers": { "${name}": [{
         "id": "paywright", "version": "${handlerVersion}",
         "spec": "${publicUrl}${handlerSpecPath}", "schema": "${publicUrl}${handlerSchemaPath}",
         "available_instruments": [{ "type": "${instrumentType}" }],
         "config": { "environment": "production", "business": "shop.example" } }] }

   and a public key (JWK, ES256) under \`keys\` (2026-08-25) and \`signing_keys\` (2026-04-08).
2. We create a checkout, update it with the address, and complete it with an instrument of type \`${instrumentType}\`. Its credential
   is a token that is good once and until \`expires_at\`, for this checkout, your domain, and exactly the total in its currency.
   Our requests are signed by RFC 9421; our key is in ${publicUrl}/.well-known/ucp.
3. Before you answer, redeem it: \`POST ${publicUrl}/api/shopping/credentials/redeem\` with
   \`{"token", "checkout_id", "amount", "currency"}\`, the amount in cents. Sign the request by RFC 9421 with your profile's key
   (cover @method, @authority, @path, content-digest, content-type, ucp-agent, idempotency-key) and name your profile with
   \`UCP-Agent: profile="https://shop.example/.well-known/ucp"\`; or send the API key of the account that has proved your domain.
   - 200 \`{"status": "redeemed"}\`: the money is set aside for this checkout. Record the order and answer \`completed\`.
   - 409, 410 or 404: it is not for you, not for this, used, or over. Answer with the message \`payment_failed\`.
   - No answer: ask again with the same Idempotency-Key.
4. The money is yours as soon as both are true: you have redeemed the credential, and your checkout is \`completed\`, by your answer or by
   our asking again. \`completed\` alone does not pay you. We wait for your redemption until \`expires_at\`; without it, the credential is
   void, we cancel the checkout, and the money goes back to the buyer. So send nothing before your redemption was answered with 200. If the
   checkout is canceled, the money goes back as well. A completion that you answer \`complete_in_progress\` is asked for until it is decided.
5. There is a last deadline, \`void_at\` in the answer to your redemption. A checkout that we have not seen as \`completed\` by then is void,
   although you have redeemed: the money goes back to the buyer. So answer before, and send nothing for a checkout that became
   \`completed\` later. To ask whether it is void, redeem again with the same Idempotency-Key: 410 says that it is.
6. A buyer may cancel as long as your checkout is not \`completed\`. If you have redeemed, you decide: answer our cancellation with
   \`canceled\`, or with \`completed\` if you have taken the order.

## Getting it

What you are owed waits under your domain. Register an account here, prove the domain (\`POST ${publicUrl}/api/shopping/merchants\`), and
it is in your balance, to be withdrawn like any other. With that account's key you mark orders as fulfilled and refund them.
`;
}
