import { z } from 'zod';
import { recordAudit } from '../../accounts/audit/record.ts';
import { countToday, dailyCapErrors } from '../../kernel/daily-caps/count-today.ts';
import type { Database, ReadDatabase, Transaction } from '../../kernel/db/database.ts';
import { type Caller, created, defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { findRoute } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import type { RunOnce } from '../../ledger/idempotency.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { requireLiveKey } from '../../ledger/require-live-key.ts';
import { websiteOrRefuse } from '../search/search-shop.ts';
import { readWebsite, type Website } from '../search/website.ts';
import { merchantErrors } from './errors.ts';
import type { FetchProof } from './fetch-proof.ts';
import { findOwnMerchant, listOwnMerchants, ordersSecretOf } from './find-merchant.ts';
import { checkDomain, proveDomain } from './prove-domain.ts';
import { registerDomain, releaseDomain, setOrdersUrl } from './register-domain.ts';
import {
  describeMerchant,
  describeRedeemed,
  exampleMerchant,
  exampleProved,
  merchantResponse,
  newMerchantResponse,
  provedMerchantResponse,
} from './response.ts';

export interface MerchantParts {
  readonly db: Database;
  readonly readDb: ReadDatabase;
  readonly once: RunOnce;
  readonly ledger: Ledger;
  readonly secrets: Secrets;
  readonly outgoing: Pick<Outgoing, 'explainRefusal'>;
  readonly lookForProof: FetchProof;
}

export function merchantRoutes(parts: MerchantParts): Route[] {
  return [
    registerRoute(parts),
    verifyRoute(parts),
    historyRoute(parts),
    domainRoute(parts),
    changeRoute(parts),
    deleteRoute(parts),
  ];
}

const tag = 'Merchants';
const managed = { tag, auth: 'key', scope: 'manage' } as const;
const ordersUrl = z
  .string()
  .max(2_048)
  .meta({ description: 'Must begin with https:// and resolve to a public IP address.' });
const parameter = z.string().max(300).meta({ description: 'The domain, in any common form.' });
const params = z.strictObject({ domain: parameter });
const examples = { params: { domain: exampleMerchant.domain } };

function registerRoute({ db, once, secrets, outgoing }: MerchantParts): Route {
  return defineRoute(
    {
      id: 'registerMerchant',
      method: 'POST',
      path: '/shopping/merchants',
      ...managed,
      summary: 'Register a domain',
      description:
        'The first step to sell through this service. Publish the file that `proof` describes on your domain and call `verify`. From then on, orders and any amount owed to the domain are paid into your balance. Set `ordersUrl` if your shop does not accept orders over UCP: each order is then sent there, signed with `ordersSecret`, which is shown only once. Respond to `order.placed` with `{"status": "accepted"}`, `refused` or `pending`; it is resent until you decide. After `expiresAt`, or when the buyer cancels, `order.cancelled` is sent: respond with `cancelled`, or with `accepted` if you accepted the order. An order that you have not accepted by `voidAt` is void: the buyer is refunded, and you must not ship. Registering a domain again keeps its proof and creates a new secret.',
      body: z.strictObject({
        website: z.string().max(300, 'must be at most 300 characters').meta({
          description: 'The domain of the shop, in any common form. It includes `www.` but no other subdomain.',
        }),
        ordersUrl: ordersUrl.optional(),
      }),
      examples: { body: { website: 'shop.example', ordersUrl: exampleMerchant.ordersUrl } },
      idempotent: true,
      returns: {
        201: {
          description: 'The domain and how to prove it',
          schema: newMerchantResponse,
          example: { ...exampleMerchant, ordersSecret: 'whsec_3q2+7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=' },
        },
      },
      errors: [
        merchantErrors.domain_taken,
        merchantErrors.orders_url_refused,
        merchantErrors.too_many_domains,
        merchantErrors.merchant_not_found,
        dailyCapErrors.daily_cap_reached,
      ],
    },
    async ({ caller, body, idempotency, ip }) => {
      const { accountId, handle } = caller;
      const domain = websiteOrRefuse(body.website, outgoing).name;
      refuseOrdersUrl(body.ordersUrl, outgoing);
      // The Idempotency-Key stores only the domain, never a response with a secret.
      const kept = await once({ caller, idempotency }, async (tx) => {
        await requireLiveKey(tx, caller);
        await countToday(tx, caller, 'domains');
        await registerDomain(tx, secrets, { accountId, domain, ordersUrl: body.ordersUrl });
        await audit(tx, { caller, ip }, 'merchant.changed', { domain });
        return created({ domain });
      });
      const merchant = await findOwnMerchant(db, accountId, kept.body.domain);
      const ordersSecret = ordersSecretOf(merchant, secrets) ?? '';
      return { ...kept, body: { ...describeMerchant(merchant, { handle, outgoing }), ordersSecret } };
    },
  );
}

function verifyRoute({ db, once, ledger, outgoing, lookForProof }: MerchantParts): Route {
  return defineRoute(
    {
      id: 'verifyMerchant',
      method: 'POST',
      path: '/shopping/merchants/:domain/verify',
      ...managed,
      summary: 'Verify a domain',
      description:
        'Reads the proof file on the domain. If it contains the line of `proof`, the domain is yours, accepts orders, and any amount owed to it is credited to your balance. Redirects are followed only to the same file with or without `www.`. If the proof is missing, `found` says what was there instead.',
      params,
      examples,
      idempotent: true,
      returns: {
        200: {
          description: 'The verified domain',
          schema: provedMerchantResponse,
          example: {
            ...exampleProved,
            redeemed: [{ amount: 24, currency: 'USDC', chain: 'MATIC', transferId: 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x' }],
          },
        },
      },
      errors: [
        merchantErrors.domain_not_proved,
        merchantErrors.domain_taken,
        merchantErrors.merchant_not_found,
        dailyCapErrors.daily_cap_reached,
      ],
    },
    async ({ caller, params: { domain }, idempotency, ip }) => {
      const { accountId, handle } = caller;
      const proved = await checkDomain({ db, lookForProof }, caller, websiteOrNotFound(domain, outgoing));
      return once({ caller, idempotency }, async (tx) => {
        // The key may have been revoked while the site responded.
        await requireLiveKey(tx, caller);
        await countToday(tx, caller, 'domains');
        const { merchant, redeemed } = await proveDomain(tx, ledger, { accountId, ...proved });
        if (proved.token !== null) await audit(tx, { caller, ip }, 'merchant.proved', { domain: proved.domain });
        return ok({ ...describeMerchant(merchant, { handle, outgoing }), redeemed: redeemed.map(describeRedeemed) });
      });
    },
  );
}

function historyRoute({ readDb, outgoing }: MerchantParts): Route {
  return listRoute({
    id: 'listMerchants',
    path: '/shopping/merchants',
    tag,
    summary: 'List your domains',
    name: 'merchants',
    item: merchantResponse,
    example: exampleProved,
    rows: (query) => listOwnMerchants(readDb, query),
    cursorOf: ({ domain }) => domain,
    describe: (merchant, { handle }) => describeMerchant(merchant, { handle, outgoing }),
  });
}

function domainRoute({ db, outgoing }: MerchantParts): Route {
  return findRoute({
    id: 'getMerchant',
    path: '/shopping/merchants/:domain',
    tag,
    summary: 'Retrieve one of your domains',
    returns: 'The domain',
    item: merchantResponse,
    example: exampleProved,
    parameter,
    notFound: merchantErrors.merchant_not_found,
    find: async (domain, { accountId, handle }) => {
      const { name } = websiteOrNotFound(domain, outgoing);
      return describeMerchant(await findOwnMerchant(db, accountId, name), { handle, outgoing });
    },
  });
}

function changeRoute({ once, outgoing }: MerchantParts): Route {
  return defineRoute(
    {
      id: 'updateMerchant',
      method: 'PATCH',
      path: '/shopping/merchants/:domain',
      ...managed,
      summary: 'Change the orders URL',
      params,
      body: z.strictObject({
        ordersUrl: ordersUrl.nullable().meta({ description: 'Null if the site accepts orders only over UCP.' }),
      }),
      examples: { ...examples, body: { ordersUrl: exampleMerchant.ordersUrl } },
      returns: { 200: { description: 'The domain', schema: merchantResponse, example: exampleProved } },
      errors: [merchantErrors.orders_url_refused, merchantErrors.merchant_not_found, dailyCapErrors.daily_cap_reached],
    },
    async ({ caller, params: { domain }, body, ip }) => {
      const { accountId, handle } = caller;
      const { name } = websiteOrNotFound(domain, outgoing);
      refuseOrdersUrl(body.ordersUrl ?? undefined, outgoing);
      return once({ caller, idempotency: undefined }, async (tx) => {
        // A revoked key must not redirect orders.
        await requireLiveKey(tx, caller);
        // The owner can always remove the URL, even after a thief has used up the daily limit.
        if (body.ordersUrl !== null) await countToday(tx, caller, 'domains');
        await setOrdersUrl(tx, { accountId, domain: name, ordersUrl: body.ordersUrl });
        const ordersHost = body.ordersUrl === null ? null : new URL(body.ordersUrl).host;
        await audit(tx, { caller, ip }, 'merchant.changed', { domain: name, ordersHost });
        return ok(describeMerchant(await findOwnMerchant(tx, accountId, name), { handle, outgoing }));
      });
    },
  );
}

function deleteRoute({ once, ledger, outgoing }: MerchantParts): Route {
  return defineRoute(
    {
      id: 'deleteMerchant',
      method: 'DELETE',
      path: '/shopping/merchants/:domain',
      ...managed,
      summary: 'Delete a domain',
      description:
        'The domain accepts no more orders until it is proved again. Any amount owed to it is paid into your balance first. Open orders stay yours: they are still sent to their original URL, signed with your current secret, and paid into your balance. You can still fulfil and refund your sales.',
      params,
      examples,
      returns: {
        200: {
          description: 'The domain was deleted',
          schema: z.object({ domain: z.string(), deleted: z.literal(true) }),
          example: { domain: exampleMerchant.domain, deleted: true },
        },
      },
      errors: [merchantErrors.merchant_not_found],
    },
    async ({ caller, params: { domain }, ip }) => {
      const { name } = websiteOrNotFound(domain, outgoing);
      const { accountId } = caller;
      return once({ caller, idempotency: undefined }, async (tx) => {
        await requireLiveKey(tx, caller);
        await releaseDomain(tx, ledger, { accountId, domain: name });
        await audit(tx, { caller, ip }, 'merchant.given_up', { domain: name });
        return ok({ domain: name, deleted: true as const });
      });
    },
  );
}

function websiteOrNotFound(text: string, outgoing: MerchantParts['outgoing']): Website {
  const read = readWebsite(text, outgoing);
  if (read.refusal !== undefined) throw merchantErrors.merchant_not_found();
  return read;
}

function refuseOrdersUrl(url: string | undefined, outgoing: MerchantParts['outgoing']): void {
  const refusal = url === undefined ? undefined : outgoing.explainRefusal(url);
  if (refusal !== undefined) throw merchantErrors.orders_url_refused(refusal);
}

type DomainAction = 'merchant.changed' | 'merchant.proved' | 'merchant.given_up';

function audit(
  tx: Transaction,
  { caller: { accountId, keyId }, ip }: { readonly caller: Caller; readonly ip: string },
  action: DomainAction,
  details: { readonly domain: string; readonly ordersHost?: string | null },
): Promise<void> {
  return recordAudit(tx, { accountId, action, by: { keyId, address: ip }, details });
}
