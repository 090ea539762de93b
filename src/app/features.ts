import { audit } from '../accounts/audit/feature.ts';
import { accounts } from '../accounts/feature.ts';
import { smtp } from '../accounts/messages/adapters/smtp/feature.ts';
import { twilio } from '../accounts/messages/adapters/twilio/feature.ts';
import { messages } from '../accounts/messages/feature.ts';
import { circle } from '../custody/adapters/circle/feature.ts';
import { denyList } from '../custody/adapters/deny-list/feature.ts';
import { keys } from '../custody/adapters/keys/feature.ts';
import { reserves } from '../custody/reserves/feature.ts';
import { chainSteps } from '../custody/steps/feature.ts';
import { treasury } from '../custody/treasury/feature.ts';
import { wallets } from '../custody/wallets/feature.ts';
import { service } from '../kernel/http/feature.ts';
import { metrics } from '../kernel/metrics/feature.ts';
import { sagas } from '../kernel/sagas/feature.ts';
import { ledger } from '../ledger/feature.ts';
import { mcp } from '../mcp/feature.ts';
import { bridge } from '../payments/bridge/feature.ts';
import { deposits } from '../payments/deposits/feature.ts';
import { coinbase } from '../payments/funding/adapters/coinbase/feature.ts';
import { moonpay } from '../payments/funding/adapters/moonpay/feature.ts';
import { funding } from '../payments/funding/feature.ts';
import { invoices } from '../payments/invoices/feature.ts';
import { swaps } from '../payments/swaps/feature.ts';
import { transfers } from '../payments/transfers/feature.ts';
import { withdrawals } from '../payments/withdrawals/feature.ts';
import { decisions } from '../policies/decisions/feature.ts';
import { policies } from '../policies/feature.ts';
import { merchants } from '../shopping/merchants/feature.ts';
import { orders } from '../shopping/orders/feature.ts';
import { shopping } from '../shopping/search/feature.ts';
import { web } from '../web/feature.ts';
import { webhooks } from '../webhooks/feature.ts';
import { purchases } from '../x402/buy/feature.ts';
import { nano } from '../x402/sell/feature.ts';
import type { ListedFeature } from './listed-feature.ts';
import { sandbox } from './sandbox-feature.ts';

/** Every feature, in the order of the API reference. Everything that a feature brings follows from its line here. */
export const features: readonly ListedFeature[] = [
  accounts,
  audit,
  policies,
  decisions,
  transfers,
  invoices,
  wallets,
  deposits,
  funding,
  withdrawals,
  bridge,
  swaps,
  shopping,
  orders,
  merchants,
  nano,
  purchases,
  treasury,
  webhooks,
  reserves,
  messages,
  ledger,
  sagas,
  chainSteps,
  service,
  metrics,
  sandbox,
  web,
  mcp,
  keys,
  circle,
  denyList,
  coinbase,
  moonpay,
  smtp,
  twilio,
];
